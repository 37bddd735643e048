"""Where a download goes: the standard Hugging Face cache, or a plain folder."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path, PurePosixPath

from huggingface_hub import constants
from huggingface_hub.file_download import are_symlinks_supported, repo_folder_name

from app.core.errors import OutputExistsError, UsageError
from app.download.digests import read_digests
from app.download.partial import SUFFIX
from app.hub.client import HubClient
from app.hub.repository import RemoteFile, Repository


class Place(ABC):
    """Where the files of one repository are put."""

    def __init__(self, client: HubClient, repository: Repository) -> None:
        self.client, self.repository = client, repository
        cache = client.cache_dir or Path(constants.HF_HUB_CACHE)
        folder = repo_folder_name(repo_id=repository.repo_id, repo_type="model")
        self._storage = cache / folder
        self._locks = cache / ".locks" / folder

    @property
    @abstractmethod
    def folder(self) -> Path:
        """What holds the files under their own names."""

    @abstractmethod
    def partial(self, file: RemoteFile) -> Path:
        """Where it grows, on the volume where it ends."""

    @abstractmethod
    def finish(self, file: RemoteFile) -> None:
        """The verified partial file becomes the file."""

    def path(self, file: RemoteFile) -> Path:
        """The file under its own name."""
        return self.folder / _relative(file.path)

    def has(self, file: RemoteFile) -> bool:
        """Whether the whole file is there: verified when it was put there."""
        path = self.path(file)
        return path.is_file() and path.stat().st_size == file.num_bytes

    def lock(self, file: RemoteFile) -> Path:
        """The lock that huggingface_hub takes for the same file."""
        return self._locks / f"{file.etag}.lock"

    def missing_bytes(self, file: RemoteFile) -> int:
        """What is still to be fetched."""
        if self.has(file):
            return 0
        partial = self.partial(file)
        found = partial.stat().st_size if partial.is_file() else 0
        return file.num_bytes - found if found <= file.num_bytes else file.num_bytes


class CachePlace(Place):
    """`models--org--name/snapshots/<commit>`, whose files are links to blobs where links work.

    Layout: huggingface_hub's guide "Manage the cache".
    """

    def __init__(self, client: HubClient, repository: Repository) -> None:
        super().__init__(client, repository)
        self._has_links = are_symlinks_supported(self._storage.parent)

    @property
    def folder(self) -> Path:
        return self._storage / "snapshots" / self.repository.commit

    def partial(self, file: RemoteFile) -> Path:
        return self._blob(file).with_name(file.etag + SUFFIX)

    def has(self, file: RemoteFile) -> bool:
        blob = self._blob(file)  # of another revision, or of another file with the same bytes
        if not super().has(file) and blob.is_file() and blob.stat().st_size == file.num_bytes:
            self._name(file)
        return super().has(file)

    def finish(self, file: RemoteFile) -> None:
        target = self._blob(file) if self._has_links else self.path(file)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(self.partial(file), target)
        self._name(file)

    def remember(self, revision: str) -> None:
        """What a branch or tag meant, so that others find the snapshot without a network."""
        if revision != self.repository.commit:
            ref = self._storage / "refs" / _relative(revision)
            ref.parent.mkdir(parents=True, exist_ok=True)
            ref.write_text(self.repository.commit, encoding="utf-8")

    def _name(self, file: RemoteFile) -> None:
        # Makes the link: it finds the blob, or without links the file itself, and fetches nothing.
        self.client.small_file(self.repository.repo_id, file.path, self.repository.commit)

    def _blob(self, file: RemoteFile) -> Path:
        return self._storage / "blobs" / file.etag


class FolderPlace(Place):
    """A folder that the user named; nothing else is put there."""

    def __init__(self, client: HubClient, repository: Repository, folder: Path) -> None:
        super().__init__(client, repository)
        self._folder = folder
        self._verified: set[RemoteFile] = set()

    @property
    def folder(self) -> Path:
        return self._folder

    def has(self, file: RemoteFile) -> bool:
        path = self.path(file)
        if file in self._verified or not path.exists():
            return file in self._verified
        if not path.is_file() or not read_digests(file, path).are_right:
            raise OutputExistsError(
                f"{path} is there already, and it is not the file of {self.repository.repo_id}; "
                "choose another folder."
            )
        self._verified.add(file)
        return True

    def partial(self, file: RemoteFile) -> Path:
        path = self.path(file)
        return path.with_name(path.name + SUFFIX)

    def finish(self, file: RemoteFile) -> None:
        os.replace(self.partial(file), self.path(file))


def _relative(path: str) -> Path:
    """A hub's path as one below a folder of ours; UsageError for one that leads out of it."""
    parts = PurePosixPath(path).parts
    if (
        not parts
        or path.startswith("/")
        or any(p in ("..", ".") or "\\" in p or ":" in p for p in parts)
    ):
        raise UsageError(f"The hub lists a file under the name {path!r}, which is not safe here.")
    return Path(*parts)
