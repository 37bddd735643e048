"""A file on its way: what has arrived, and its digests so far."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from app.core.jobs import check_cancelled
from app.download.digests import Digests, read_digests
from app.download.progress import FileState, Meter
from app.hub.repository import RemoteFile

SUFFIX = ".deepinfer-partial"


class PartialFile:
    """What `http_get` writes to. Unbuffered: a killed process loses only the chunk in its hands."""

    def __init__(self, path: Path, file: RemoteFile, meter: Meter) -> None:
        """Continues the file at `path` if it is there and not too long."""
        self._file, self._meter = file, meter
        path.parent.mkdir(parents=True, exist_ok=True)
        is_usable = path.exists() and path.stat().st_size <= file.num_bytes
        self._digests = self._check(path) if is_usable else Digests(file)
        meter.enter(file.path, FileState.RUNNING)
        self._stream = path.open("ab" if is_usable else "wb", buffering=0)
        self.num_found = self.num_bytes
        meter.found(self.num_bytes, file.path)

    @property
    def num_bytes(self) -> int:
        """Written so far."""
        return self._digests.num_bytes

    @property
    def sha256(self) -> str:
        """Of what is written so far."""
        return self._digests.sha256

    @property
    def is_right(self) -> bool:
        """All bytes are there and have the digest that the hub's list gives."""
        return self._digests.are_right

    def write(self, data: bytes) -> int:
        """Appends; raises JobCancelledError when the work was cancelled, OSError of the disk."""
        check_cancelled()
        view = memoryview(data)
        while view:  # a raw file may take less than it is given, when the disk is nearly full
            written = self._stream.write(view)
            self._digests.update(view[:written])
            self._meter.received(written, self._file.path)
            view = view[written:]
        return len(data)

    def tell(self) -> int:
        """Where the next byte goes: always the end."""
        return self.num_bytes

    def seek(self, offset: int) -> int:
        """Back to the start, the only place that a server without ranges can serve from."""
        if offset != 0:
            raise ValueError(f"a partial file starts again at 0, not at {offset}")
        self._meter.found(-self.num_bytes, self._file.path)
        self._stream.seek(0)
        self._digests, self.num_found = Digests(self._file), 0
        return 0

    def truncate(self) -> None:
        """Drops what is behind."""
        self._stream.truncate()

    def _check(self, path: Path) -> Digests:
        def tell() -> None:
            self._meter.enter(self._file.path, FileState.CHECKING)

        tell()
        return read_digests(self._file, path, tell)

    def __enter__(self) -> PartialFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stream.close()
