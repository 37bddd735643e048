"""Progress of a conversion, counted from many threads and told to one listener at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from app.converter.sources.base import SourcePart
from app.core.events import ConversionProgressed, Event


class Progress:
    """Counts source bytes and parts; every event goes out under one lock, in order."""

    def __init__(self, parts: tuple[SourcePart, ...], listener: Callable[[Event], None]) -> None:
        self._listener = listener
        self._lock = threading.Lock()
        self._start = time.monotonic()
        self._num_parts, self._num_parts_done = len(parts), 0
        self._total_bytes, self._done_bytes = sum(map(part_bytes, parts)), 0

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    def add_bytes(self, part: SourcePart, num_bytes: int) -> None:
        """A tensor of `part` is converted."""
        self._advance(part, num_bytes, 0)

    def finish_part(self, part: SourcePart, num_bytes: int = 0) -> None:
        """A part is on disk; `num_bytes` of it were not told before."""
        self._advance(part, num_bytes, 1)

    def _advance(self, part: SourcePart, num_bytes: int, num_parts: int) -> None:
        with self._lock:
            self._done_bytes += num_bytes
            self._num_parts_done += num_parts
            self._listener(
                ConversionProgressed(
                    step=_step_name(part.file),
                    num_steps_done=self._num_parts_done,
                    num_steps=self._num_parts,
                    done_bytes=self._done_bytes,
                    total_bytes=self._total_bytes,
                    elapsed_s=self.elapsed_s,
                )
            )


def part_bytes(part: SourcePart) -> int:
    """Source bytes of a part."""
    return sum(t.source_bytes for t in part.linears) + sum(v.source_bytes for v in part.vectors)


def _step_name(stem: str) -> str:
    """`layer_03` -> `layer 3`; the other files keep their names."""
    return f"layer {int(stem[6:])}" if stem.startswith("layer_") else stem
