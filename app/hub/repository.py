"""A repository as its hub lists it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """`etag` names its blob: the sha256 of a large file (`is_sha256`), else Git's own sha1."""

    path: str
    num_bytes: int
    etag: str
    is_sha256: bool


@dataclass(frozen=True, slots=True)
class Repository:
    """One commit of it. `gated` tells that its terms must be accepted; licence '' when not said.

    `has_gguf_template` tells that the hub itself read a chat template in its GGUF files.
    """

    repo_id: str
    commit: str
    files: tuple[RemoteFile, ...]
    gated: bool
    license: str
    downloads: int
    has_gguf_template: bool = False
