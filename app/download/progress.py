"""How far a download is, for whoever shows it; written by its threads, read by another."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

# Silence after which a download is called stalled, in seconds.
STALLED_AFTER_S = 5.0
_WINDOW_S = 10.0
# Chunks that come within this time are counted as one sample.
_SAMPLE_S = 0.1


class FileState(StrEnum):
    """Where one file is: `CHECKING` reads what is on the disk already."""

    WAITING = "waiting"
    CHECKING = "checking"
    RUNNING = "running"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class FileProgress:
    """One file of the download."""

    path: str
    done_bytes: int
    total_bytes: int
    state: FileState


@dataclass(frozen=True, slots=True)
class Progress:
    """`silent_s` since the last byte; `bytes_per_s` over the last ten seconds, 0 when stalled.

    `note` is the last thing that went otherwise than planned, '' for nothing.
    """

    done_bytes: int
    total_bytes: int
    bytes_per_s: float
    silent_s: float
    files: tuple[FileProgress, ...] = ()
    note: str = ""

    @property
    def is_stalled(self) -> bool:
        """No byte has come for a while."""
        return self.silent_s >= STALLED_AFTER_S and self.done_bytes < self.total_bytes

    @property
    def is_checking(self) -> bool:
        """What is on the disk is read, and nothing is fetched meanwhile."""
        states = {file.state for file in self.files}
        return FileState.CHECKING in states and FileState.RUNNING not in states

    @property
    def eta_s(self) -> float | None:
        """Seconds left at this speed, None where there is none."""
        if self.is_stalled or self.bytes_per_s <= 0:
            return None
        return (self.total_bytes - self.done_bytes) / self.bytes_per_s


@dataclass
class _Counted:
    """One file, while it is counted."""

    total_bytes: int
    done_bytes: int = 0
    state: FileState = FileState.WAITING


@dataclass
class _Sample:
    moment_s: float
    num_bytes: int


@dataclass
class Meter:
    """Counts bytes. `total_bytes` are all of the download's, also those that are there already."""

    total_bytes: int
    clock: Callable[[], float] = time.monotonic
    _done: int = 0
    _last_s: float = 0.0
    _note: str = ""
    _samples: deque[_Sample] = field(default_factory=deque)
    _files: dict[str, _Counted] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._last_s = self.clock()

    def expect(self, path: str, total_bytes: int) -> None:
        """A file that belongs to it, in the order in which files are shown."""
        with self._lock:
            self._files[path] = _Counted(total_bytes)

    def found(self, num_bytes: int, path: str = "") -> None:
        """Bytes that need not be fetched; negative where they turned out to be of no use."""
        with self._lock:
            self._last_s = self.clock()
            self._count(num_bytes, path)

    def received(self, num_bytes: int, path: str = "") -> None:
        """Bytes that have come."""
        with self._lock:
            self._last_s = self.clock()
            self._count(num_bytes, path)
            if self._samples and self._last_s - self._samples[-1].moment_s < _SAMPLE_S:
                self._samples[-1].num_bytes += num_bytes
            else:
                self._samples.append(_Sample(self._last_s, num_bytes))

    def enter(self, path: str, state: FileState) -> None:
        """A file's state; whoever reads what is there is not silent."""
        with self._lock:
            if state is FileState.CHECKING:
                self._last_s = self.clock()
            if path in self._files:
                self._files[path].state = state

    def tell(self, note: str) -> None:
        """A sentence about what goes otherwise than planned."""
        with self._lock:
            self._note = note

    def read(self) -> Progress:
        """How it stands now."""
        with self._lock:
            now = self.clock()
            while self._samples and self._samples[0].moment_s < now - _WINDOW_S:
                self._samples.popleft()
            span = now - self._samples[0].moment_s if self._samples else 0.0
            received = sum(sample.num_bytes for sample in self._samples)
            silent = now - self._last_s
            speed = received / span if span > 0 and silent < STALLED_AFTER_S else 0.0
            files = tuple(
                FileProgress(path, file.done_bytes, file.total_bytes, file.state)
                for path, file in self._files.items()
            )
            return Progress(self._done, self.total_bytes, speed, silent, files, self._note)

    def _count(self, num_bytes: int, path: str) -> None:
        self._done += num_bytes
        if path in self._files:
            self._files[path].done_bytes += num_bytes
