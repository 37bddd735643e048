"""Conversations' KV caches on this disk: folders of pages that are checked before they are used.

A conversation's folder is named by the hash of its key. `index.json` begins with the SHA-256 of the
rest of it, which tells the format, the token ids and each page's file and SHA-256. Files are
written aside and renamed, the index last; pages are named by their content and never changed, so
that the old index is good until the new one replaces it. Nothing is forced to the disk: what a
power failure leaves is recognised by its hash.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_logger = logging.getLogger(__name__)

Data = npt.NDArray[np.uint8]

DEFAULT_LIMIT_BYTES = 2 << 30
_INDEX = "index.json"
_ASIDE = ".part"
_MIN_FREE_BYTES = 2 << 30  # a cache must not be what fills the disk


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """A file of a conversation's folder."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """Token ids [n] and the pages that hold them, in order; `state` is the recurrent one behind all
    of them."""

    token_ids: tuple[int, ...]
    pages: tuple[StoredBlob, ...]
    state: StoredBlob | None = None


class KVStore:
    """The folders of one directory, and the total size that they may have.

    `format` names what pages mean: the checkpoint, and how and by what its cache is laid out.
    Conversations of another format, damaged and unfinished ones are removed, with a line in the
    log. Methods raise OSError only where a file cannot be written.
    """

    def __init__(
        self, directory: Path, format: str, limit_bytes: int = DEFAULT_LIMIT_BYTES
    ) -> None:
        self._directory = directory
        self._format = format
        self.limit_bytes = limit_bytes
        self._remove_unfinished()

    def find(self, key: str) -> StoredConversation | None:
        """What is kept of the conversation; it counts as used."""
        folder = self._folder(key)
        try:
            content = (folder / _INDEX).read_bytes()
        except OSError:
            return None
        digest, _, body = content.partition(b"\n")
        if digest.decode("ascii", "replace") != sha256(body).hexdigest():
            self._remove(folder, "its index is damaged")
            return None
        table = json.loads(body)
        if table["format"] != self._format:
            self._remove(folder, "it is of another model, cache or version of the program")
            return None
        _touch(folder / _INDEX)
        return _conversation_of(table)

    def read(self, key: str, blob: StoredBlob) -> Data | None:
        """A page or state; None, and the conversation is removed, when it is not what it was."""
        folder = self._folder(key)
        try:
            content = (folder / blob.name).read_bytes()
        except OSError as error:
            self._remove(folder, f"{blob.name} cannot be read: {error}")
            return None
        if sha256(content).hexdigest() != blob.sha256:
            self._remove(folder, f"{blob.name} is damaged")
            return None
        return np.frombuffer(content, np.uint8)

    def can_hold(self, num_bytes: int) -> bool:
        """Whether a conversation of this size is kept: within the limit, the disk not full."""
        self._directory.mkdir(parents=True, exist_ok=True)
        free_bytes = shutil.disk_usage(self._directory).free
        return num_bytes <= min(self.limit_bytes, free_bytes - _MIN_FREE_BYTES)

    def write(self, key: str, data: Data) -> StoredBlob:
        """A page or state of a conversation whose index will be written at the end."""
        digest = sha256(data.tobytes()).hexdigest()
        blob = StoredBlob(f"{digest[:32]}.kv", digest)
        folder = self._folder(key)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / blob.name).exists():
            _write_aside(folder / blob.name, data.tobytes())
        return blob

    def finish(self, key: str, conversation: StoredConversation) -> None:
        """Everything of the conversation is written: replaces what there was of it.

        Then the conversations that were longest unused go until the limit is kept.
        """
        folder = self._folder(key)
        body = json.dumps(_table_of(conversation, self._format)).encode()
        _write_aside(folder / _INDEX, sha256(body).hexdigest().encode() + b"\n" + body)
        kept = {_INDEX, *(blob.name for blob in _blobs_of(conversation))}
        for path in folder.iterdir():
            if path.name not in kept:
                _unlink(path)
        self._keep_limit(folder)

    def forget(self, key: str) -> None:
        """Removes a conversation."""
        remove_conversation(self._directory, key)

    def _folder(self, key: str) -> Path:
        return _folder_of(self._directory, key)

    def _keep_limit(self, newest: Path) -> None:
        sizes = {folder: _folder_bytes(folder) for folder in self._folders() if folder != newest}
        total = sum(sizes.values()) + _folder_bytes(newest)
        for folder in sorted(sizes, key=_last_used_s):
            if total <= self.limit_bytes:
                return
            total -= sizes[folder]
            self._remove(folder, "there is no room left for it")

    def _remove_unfinished(self) -> None:
        for folder in self._folders():
            if not (folder / _INDEX).exists():
                self._remove(folder, "it was not finished")
                continue
            for path in folder.glob(f"*{_ASIDE}"):
                _logger.warning("Removed %s: it was not finished.", path)
                _unlink(path)

    def _folders(self) -> list[Path]:
        try:
            return [path for path in self._directory.iterdir() if path.is_dir()]
        except OSError:
            return []

    def _remove(self, folder: Path, reason: str) -> None:
        _logger.warning("Removed the KV cache of a conversation, %s: %s.", folder.name, reason)
        shutil.rmtree(folder, ignore_errors=True)


def remove_conversation(directory: Path, key: str) -> None:
    """Removes what is kept of a conversation, of whatever format."""
    shutil.rmtree(_folder_of(directory, key), ignore_errors=True)


def _folder_of(directory: Path, key: str) -> Path:
    return directory / sha256(key.encode()).hexdigest()[:32]


def _conversation_of(table: dict[str, Any]) -> StoredConversation:
    state = table["state"]
    return StoredConversation(
        tuple(table["token_ids"]),
        tuple(StoredBlob(*page) for page in table["pages"]),
        None if state is None else StoredBlob(*state),
    )


def _table_of(conversation: StoredConversation, format: str) -> dict[str, Any]:
    state = conversation.state
    return {
        "format": format,
        "token_ids": list(conversation.token_ids),
        "pages": [[page.name, page.sha256] for page in conversation.pages],
        "state": None if state is None else [state.name, state.sha256],
    }


def _blobs_of(conversation: StoredConversation) -> Sequence[StoredBlob]:
    state = () if conversation.state is None else (conversation.state,)
    return (*conversation.pages, *state)


def _write_aside(path: Path, content: bytes) -> None:
    aside = path.with_name(path.name + _ASIDE)
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY, 0o600)
    with open(descriptor, "wb") as file:
        file.write(content)
    os.replace(aside, path)


_BINARY = getattr(os, "O_BINARY", 0)


def _unlink(path: Path) -> None:
    """Windows refuses while anybody, a virus scanner for instance, has the file open."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        _logger.info("%s stays: %s", path, error)


def _touch(path: Path) -> None:
    try:
        os.utime(path)
    except OSError:
        _logger.info("%s cannot be marked as used.", path)


def _last_used_s(folder: Path) -> float:
    try:
        return (folder / _INDEX).stat().st_mtime
    except OSError:
        return 0.0


def _folder_bytes(folder: Path) -> int:
    try:
        return sum(path.stat().st_size for path in folder.iterdir())
    except OSError:
        return 0
