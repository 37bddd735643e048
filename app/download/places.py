"""Where a download goes: the standard Hugging Face cache, or a plain folder."""

from __future__ import annotations

import os
import shutil
from abc import ABC, abstractmethod
from pathlib import Path, PurePosixPath

from huggingface_hub.file_download import are_symlinks_supported, repo_folder_name

from app.core.errors import OutputExistsError, StorageError, UsageError
from app.download.digests import read_digests
from app.download.partial import SUFFIX
from app.hub.client import HubClient, cache_root
from app.hub.repository import RemoteFile, Repository


class Place(ABC):
    """Where the files of one repository are put."""

    def __init__(self, client: HubClient, repository: Repository) -> None:
        self.client, self.repository = client, repository
        cache = cache_root(client)
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
        """The verified partial file becomes the file; ResourceError where it has gone."""

    def path(self, file: RemoteFile) -> Path:
        """The file under its own name."""
        return self.folder / _relative(file.path)

    def has(self, file: RemoteFile) -> bool:
        """Whether the whole file is there: verified when it was put there."""
        path = self.path(file)
        return path.is_file() and path.stat().st_size == file.num_bytes

    @abstractmethod
    def name(self, file: RemoteFile) -> None:
        """Gives a file that is there the name that the repository gives it."""

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
        return super().has(file) or (blob.is_file() and blob.stat().st_size == file.num_bytes)

    def finish(self, file: RemoteFile) -> None:
        target = self._blob(file) if self._has_links else self.path(file)
        _move(self.partial(file), target)
        self.name(file)

    def name(self, file: RemoteFile) -> None:
        path, blob = self.path(file), self._blob(file)
        if super().has(file) or not blob.is_file():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # a link that leads nowhere, a file cut short
        if self._has_links:
            path.symlink_to(os.path.relpath(blob, path.parent))
        else:
            shutil.copyfile(blob, path)

    def remember(self, revision: str) -> None:
        """What a branch or tag meant, so that others find the snapshot without a network."""
        if revision != self.repository.commit:
            ref = self._storage / "refs" / _relative(revision)
            ref.parent.mkdir(parents=True, exist_ok=True)
            ref.write_text(self.repository.commit, encoding="utf-8")

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
                "{path} is there already, and it is not the file of {repo_id}; choose another "
                "folder.",
                path=path,
                repo_id=self.repository.repo_id,
            )
        self._verified.add(file)
        return True

    def partial(self, file: RemoteFile) -> Path:
        path = self.path(file)
        return path.with_name(path.name + SUFFIX)

    def finish(self, file: RemoteFile) -> None:
        _move(self.partial(file), self.path(file))

    def name(self, file: RemoteFile) -> None:
        """It has no other."""


def _move(partial: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.replace(partial, target)
    except FileNotFoundError as error:
        raise StorageError(
            "{folder} was moved or deleted while a file was downloaded into it; begin the "
            "download again.",
            folder=partial.parent,
            detail=repr(error),
        ) from error


def _relative(path: str) -> Path:
    """A hub's path as one below a folder of ours; UsageError for one that leads out of it."""
    parts = PurePosixPath(path).parts
    if (
        not parts
        or path.startswith("/")
        or any(p in ("..", ".") or "\\" in p or ":" in p for p in parts)
    ):
        raise UsageError(
            "The hub lists a file under the name {path!r}, which is not safe here.", path=path
        )
    return Path(*parts)
