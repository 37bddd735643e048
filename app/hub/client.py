"""A model hub, through huggingface_hub: its cache, proxies and HTTP client.

Import it where it is used: huggingface_hub takes a second.
"""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import httpx2
from huggingface_hub import (
    HfApi,
    constants,
    get_session,
    hf_hub_download,
    hf_hub_url,
    set_client_factory,
    try_to_load_from_cache,
)
from huggingface_hub.file_download import get_hf_file_metadata
from huggingface_hub.hf_api import ModelInfo, RepoSibling
from huggingface_hub.utils import (  # type: ignore[attr-defined]  # documented, lazily exported
    build_hf_headers,
    hf_raise_for_status,
)
from huggingface_hub.utils import logging as hub_logging
from huggingface_hub.utils._http import default_client_factory

from app.core.errors import HubSilentError, ResourceError
from app.core.sentence import Sentence
from app.hub.endpoints import environment_endpoint
from app.hub.failures import Asked, explained, raise_for_too_many
from app.hub.repository import RemoteFile, Repository
from app.hub.token import TOKENS

# Of one answer; huggingface_hub itself waits without end.
TIMEOUT_S = 30.0
_CONNECT_TIMEOUT_S = 10.0


def _create_client() -> httpx2.Client:
    client = default_client_factory()
    client.event_hooks["response"] = [*client.event_hooks["response"], raise_for_too_many]
    client.timeout = httpx2.Timeout(TIMEOUT_S, connect=_CONNECT_TIMEOUT_S)
    return client


set_client_factory(_create_client)
# Its retries are our own sentences, not lines on the terminal between them.
hub_logging.set_verbosity_error()  # type: ignore[no-untyped-call]
# It logs addresses, and those of stores are signed: a key to the file for whoever reads the log.
logging.getLogger("httpx2").setLevel(logging.WARNING)


@dataclass(frozen=True, slots=True)
class HubClient:
    """`endpoint` '' is HF_ENDPOINT or the official hub; each hub gets its own token or none.

    Everything raises InvalidSourceError or ResourceError with a sentence for the user.
    """

    endpoint: str = ""
    cache_dir: Path | None = None

    @property
    def base(self) -> str:
        """The address, without a slash at its end."""
        return self.endpoint or environment_endpoint()

    @property
    def token(self) -> str | bool:
        """Of this hub; False: none is sent."""
        return TOKENS.find(self.base)[0] or False

    def explained(self, repo_id: str, what: str) -> AbstractContextManager[None]:
        """Inside, what huggingface_hub raises becomes a sentence about `what` of `repo_id`."""
        return explained(Asked(self.base, repo_id, what, bool(self.token)))

    def knock(self) -> None:
        """Raises HubSilentError at once for a hub that is not there: where huggingface_hub reads
        page after page it would try for half a minute."""
        with self.explained("", Sentence("a list of repositories")):
            answer = get_session().get(
                f"{self.base}/api/models", params={"limit": 1}, headers=self.headers()
            )
            hf_raise_for_status(answer)

    def repository(self, repo_id: str, revision: str = "main") -> Repository:
        """Lists a repository with sizes and digests."""
        api = HfApi(endpoint=self.base, token=self.token)
        with self.explained(
            repo_id, Sentence("the list of files at {revision}", revision=revision)
        ):
            info = api.model_info(repo_id, revision=revision, files_metadata=True)
        return _to_repository(repo_id, info)

    def small_file(self, repo_id: str, path: str, revision: str = "main") -> Path:
        """The file in the standard cache, fetched where it is not there.

        What a branch means is asked first: a hub that is not there says so at once, where
        huggingface_hub would try for half a minute; then the cache must do.
        """
        cached = try_to_load_from_cache(repo_id, path, self.cache_dir, revision)
        try:
            commit = self.repository(repo_id, revision).commit
        except ResourceError:
            if isinstance(cached, str):
                return Path(cached)
            raise
        return self.file_at(repo_id, path, commit)

    def file_at(self, repo_id: str, path: str, commit: str) -> Path:
        """The same of one commit; what is in the cache is not asked for."""
        with self.explained(repo_id, path):
            return Path(
                hf_hub_download(
                    repo_id,
                    path,
                    revision=commit,
                    endpoint=self.base,
                    cache_dir=self.cache_dir,
                    token=self.token,
                )
            )

    def read_range(self, repository: Repository, path: str, start: int, stop: int) -> bytes:
        """Bytes from `start` up to `stop` or the end; a deaf server is hung up on.

        Raises HubSilentError where a server without ranges would have to send all before `start`.
        """
        headers = self.headers() | {"Range": f"bytes={start}-{stop - 1}"}
        url = self.url(repository, path)
        with (
            self.explained(repository.repo_id, path),
            get_session().stream("GET", url, headers=headers, timeout=TIMEOUT_S) as response,
        ):
            if response.is_error:
                response.read()
            hf_raise_for_status(response)
            if start and response.status_code != httpx2.codes.PARTIAL_CONTENT:
                raise HubSilentError("{base} does not send parts of files.", base=self.base)
            part = bytearray()
            for chunk in response.iter_raw():
                part += chunk
                if len(part) >= stop - start:
                    break
        return bytes(part[: stop - start])

    def find_file(self, repository: Repository, path: str) -> RemoteFile | None:
        """The same file of the same commit as this hub knows it; None where it says too little."""
        with self.explained(repository.repo_id, path):
            found = get_hf_file_metadata(
                self.url(repository, path), token=self.token, timeout=TIMEOUT_S, endpoint=self.base
            )
        if found.etag is None or found.size is None:
            return None
        return RemoteFile(path, found.size, found.etag, len(found.etag) == 64)

    def url(self, repository: Repository, path: str) -> str:
        """Where the file is asked for; the answer may be a redirect to another host."""
        return hf_hub_url(repository.repo_id, path, revision=repository.commit, endpoint=self.base)

    def headers(self) -> dict[str, str]:
        """With the token, which the HTTP client drops at a redirect to another host."""
        headers: dict[str, str] = build_hf_headers(token=self.token)
        # Sizes and positions must be those of the file, not of a compressed answer.
        return headers | {"Accept-Encoding": "identity"}


def cache_root(client: HubClient) -> Path:
    """The folder of the standard cache."""
    return client.cache_dir or Path(constants.HF_HUB_CACHE)


def license_of(info: ModelInfo) -> str:
    """As the card or a tag names it; '' where nobody does."""
    named = getattr(info.card_data, "license", None)
    tags = (tag.partition(":")[2] for tag in info.tags or () if tag.startswith("license:"))
    return str(named or next(tags, ""))


def _to_repository(repo_id: str, info: ModelInfo) -> Repository:
    if not info.sha:
        raise HubSilentError(
            "The hub did not say which commit of {repo_id} it lists.", repo_id=repo_id
        )
    gguf = info.gguf if isinstance(info.gguf, dict) else {}
    return Repository(
        repo_id=repo_id,
        commit=info.sha,
        files=tuple(_to_file(repo_id, sibling) for sibling in info.siblings or ()),
        gated=bool(info.gated),
        license=license_of(info),
        downloads=info.downloads or 0,
        has_gguf_template=bool(gguf.get("chat_template")),
    )


def _to_file(repo_id: str, sibling: RepoSibling) -> RemoteFile:
    etag = sibling.lfs.sha256 if sibling.lfs else sibling.blob_id
    if etag is None or sibling.size is None:
        raise HubSilentError(
            "The hub did not say size and digest of {file}.", file=sibling.rfilename
        )
    return RemoteFile(sibling.rfilename, sibling.size, etag, sibling.lfs is not None)
