"""A model hub, through huggingface_hub: its endpoint, cache, proxies and token count.

Import it where it is used: huggingface_hub takes a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import HfApi, get_session, hf_hub_download, hf_hub_url
from huggingface_hub.hf_api import ModelInfo, RepoSibling
from huggingface_hub.utils import (  # type: ignore[attr-defined]  # documented, lazily exported
    build_hf_headers,
    hf_raise_for_status,
)

from app.core.errors import ResourceError
from app.hub.failures import explained
from app.hub.repository import RemoteFile, Repository

# Of one answer; huggingface_hub itself waits without end.
_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class HubClient:
    """`endpoint` '' is the one that is set; a token goes to that one only.

    Everything raises InvalidSourceError or ResourceError with a sentence for the user.
    """

    endpoint: str = ""
    cache_dir: Path | None = None

    @property
    def token(self) -> bool | None:
        """None: HF_TOKEN or the saved one; False: none, as another host was typed."""
        return False if self.endpoint else None

    def repository(self, repo_id: str, revision: str = "main") -> Repository:
        """Lists a repository with sizes and digests."""
        api = HfApi(endpoint=self.endpoint or None, token=self.token)
        with explained(repo_id, f"the list of files at {revision}", self.endpoint):
            info = api.model_info(
                repo_id, revision=revision, files_metadata=True, timeout=_TIMEOUT_S
            )
        return _to_repository(repo_id, info)

    def small_file(self, repo_id: str, path: str, revision: str = "main") -> Path:
        """The file in the standard cache, fetched where it is not there."""
        with explained(repo_id, path, self.endpoint):
            return Path(
                hf_hub_download(
                    repo_id,
                    path,
                    revision=revision,
                    endpoint=self.endpoint or None,
                    cache_dir=self.cache_dir,
                    token=self.token,
                )
            )

    def read_head(self, repository: Repository, path: str, num_bytes: int) -> bytes:
        """At most the first `num_bytes` of a file; what a deaf server sends beyond is not read."""
        headers = self.headers() | {"Range": f"bytes=0-{num_bytes - 1}"}
        url = self.url(repository, path)
        with (
            explained(repository.repo_id, path, self.endpoint),
            get_session().stream("GET", url, headers=headers, timeout=_TIMEOUT_S) as response,
        ):
            if response.is_error:
                response.read()
            hf_raise_for_status(response)
            head = bytearray()
            for chunk in response.iter_raw():
                head += chunk
                if len(head) >= num_bytes:
                    break
        return bytes(head[:num_bytes])

    def url(self, repository: Repository, path: str) -> str:
        """Where the file is asked for; the answer may be a redirect to another host."""
        return hf_hub_url(
            repository.repo_id,
            path,
            revision=repository.commit,
            endpoint=self.endpoint or None,
        )

    def headers(self) -> dict[str, str]:
        """With the token, which the HTTP client drops at a redirect to another host."""
        headers: dict[str, str] = build_hf_headers(token=self.token)
        # Sizes and positions must be those of the file, not of a compressed answer.
        return headers | {"Accept-Encoding": "identity"}


def _to_repository(repo_id: str, info: ModelInfo) -> Repository:
    if not info.sha:
        raise ResourceError(f"The hub did not say which commit of {repo_id} it lists.")
    return Repository(
        repo_id=repo_id,
        commit=info.sha,
        files=tuple(_to_file(repo_id, sibling) for sibling in info.siblings or ()),
        gated=bool(info.gated),
        license=str(getattr(info.card_data, "license", None) or ""),
        downloads=info.downloads or 0,
    )


def _to_file(repo_id: str, sibling: RepoSibling) -> RemoteFile:
    etag = sibling.lfs.sha256 if sibling.lfs else sibling.blob_id
    if etag is None or sibling.size is None:
        raise ResourceError(f"The hub did not say size and digest of {sibling.rfilename}.")
    return RemoteFile(sibling.rfilename, sibling.size, etag, sibling.lfs is not None)
