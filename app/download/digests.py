"""The two digests that a hub lists: sha256 of large files, Git's sha1 of the others."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from app.core.jobs import check_cancelled
from app.hub.repository import RemoteFile

_READ_BYTES = 1 << 22


class Digests:
    """Grow with the bytes of one file, in order."""

    def __init__(self, file: RemoteFile) -> None:
        self._file = file
        self.num_bytes = 0
        self._sha256 = hashlib.sha256()
        # git hash-object: the sha1 of a header and the contents.
        self._git_sha1 = hashlib.sha1(b"blob %d\0" % file.num_bytes, usedforsecurity=False)

    def update(self, data: bytes | memoryview) -> None:
        """The next bytes."""
        self.num_bytes += len(data)
        self._sha256.update(data)
        if not self._file.is_sha256:
            self._git_sha1.update(data)

    @property
    def sha256(self) -> str:
        """Of the bytes so far."""
        return self._sha256.hexdigest()

    @property
    def are_right(self) -> bool:
        """All bytes were seen, and they are those that the hub lists."""
        digest = self.sha256 if self._file.is_sha256 else self._git_sha1.hexdigest()
        return self.num_bytes == self._file.num_bytes and digest == self._file.etag


def read_digests(
    file: RemoteFile, path: Path, on_read: Callable[[], None] = lambda: None
) -> Digests:
    """Of a file on this disk, `on_read` called now and then; raises JobCancelledError when the
    work was cancelled."""
    digests = Digests(file)
    with path.open("rb", buffering=0) as stream:
        while data := stream.read(_READ_BYTES):
            check_cancelled()
            digests.update(data)
            on_read()
    return digests
