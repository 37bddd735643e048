"""How far a download is, for whoever shows it; written by one thread, read by another."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

# Silence after which a download is called stalled, in seconds.
STALLED_AFTER_S = 5.0
_WINDOW_S = 10.0


@dataclass(frozen=True, slots=True)
class Progress:
    """`silent_s` since the last byte; `bytes_per_s` over the last ten seconds, 0 when stalled."""

    done_bytes: int
    total_bytes: int
    bytes_per_s: float
    silent_s: float

    @property
    def is_stalled(self) -> bool:
        """No byte has come for a while."""
        return self.silent_s >= STALLED_AFTER_S and self.done_bytes < self.total_bytes

    @property
    def eta_s(self) -> float | None:
        """Seconds left at this speed, None where there is none."""
        if self.is_stalled or self.bytes_per_s <= 0:
            return None
        return (self.total_bytes - self.done_bytes) / self.bytes_per_s


class Meter:
    """Counts bytes. `total_bytes` are all of the download's, also those that are there already."""

    def __init__(self, total_bytes: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._total, self._clock = total_bytes, clock
        self._done = 0
        self._last_s = clock()
        self._samples: deque[tuple[float, int]] = deque()
        self._lock = threading.Lock()

    def found(self, num_bytes: int) -> None:
        """Bytes that need not be fetched; negative where they turned out to be of no use."""
        with self._lock:
            self._done += num_bytes

    def received(self, num_bytes: int) -> None:
        """Bytes that have come."""
        with self._lock:
            self._last_s = self._clock()
            self._done += num_bytes
            self._samples.append((self._last_s, num_bytes))

    def read(self) -> Progress:
        """How it stands now."""
        with self._lock:
            now = self._clock()
            while self._samples and self._samples[0][0] < now - _WINDOW_S:
                self._samples.popleft()
            span = now - self._samples[0][0] if self._samples else 0.0
            received = sum(num_bytes for _, num_bytes in self._samples)
            silent = now - self._last_s
            speed = received / span if span > 0 and silent < STALLED_AFTER_S else 0.0
            return Progress(self._done, self._total, speed, silent)
