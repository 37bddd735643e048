"""Progress of a conversion, counted from many threads and told to one listener at a time."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from app.converter.grids import iter_dense
from app.converter.sources.base import SourceLinear, SourcePart
from app.core.conversion_events import ConversionProgressed
from app.core.events import Event
from app.core.sentence import Sentence

_TOLD_BYTES = 8 << 20  # within a tensor, one event for so many of its bytes
_LAYER = re.compile(r"layer_(\d+)")
_MIN_SPEED_S = 0.5  # before that, the first tensors say nothing of the speed


class Progress:
    """Counts source bytes and parts; every event goes out under one lock, in order."""

    def __init__(self, parts: tuple[SourcePart, ...], listener: Callable[[Event], None]) -> None:
        self._listener = listener
        self._lock = threading.Lock()
        self._start = time.monotonic()
        self._num_parts, self._num_parts_done = len(parts), 0
        self._total_bytes, self._done_bytes = sum(map(part_bytes, parts)), 0
        self._adopted_bytes = 0

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    def adopt_part(self, part: SourcePart) -> None:
        """A part of an earlier run is taken over: done, but no sign of the speed."""
        with self._lock:
            self._adopted_bytes += part_bytes(part)
        self._advance(part, "", part_bytes(part), 1)

    def finish_part(self, part: SourcePart) -> None:
        """A part is on disk, with its vectors."""
        self._advance(part, "", sum(vector.source_bytes for vector in part.vectors), 1)

    def track(self, part: SourcePart, linear: SourceLinear) -> TrackedLinear:
        """Watches one linear of `part` being read."""
        return TrackedLinear(linear, lambda count: self._advance(part, linear.name, count, 0))

    def _advance(self, part: SourcePart, tensor: str, num_bytes: int, num_parts: int) -> None:
        with self._lock:
            self._done_bytes += num_bytes
            self._num_parts_done += num_parts
            elapsed_s = self.elapsed_s
            self._listener(
                ConversionProgressed(
                    step=_step_name(part.file),
                    num_steps_done=self._num_parts_done,
                    num_steps=self._num_parts,
                    done_bytes=self._done_bytes,
                    total_bytes=self._total_bytes,
                    elapsed_s=elapsed_s,
                    tensor=tensor,
                    eta_s=self._estimate(elapsed_s),
                )
            )

    def _estimate(self, elapsed_s: float) -> float | None:
        converted = self._done_bytes - self._adopted_bytes
        if converted <= 0 or elapsed_s < _MIN_SPEED_S:
            return None
        return elapsed_s * (self._total_bytes - self._done_bytes) / converted


class TrackedLinear:
    """A linear whose blocks of rows are counted as they are decoded, the first time."""

    def __init__(self, linear: SourceLinear, tell: Callable[[int], None]) -> None:
        self._linear, self._tell = linear, tell
        self._told_bytes = 0

    @property
    def linear(self) -> SourceLinear:
        """To be read in its place."""
        return replace(self._linear, iter_dense=self._iter_dense)

    def finish(self) -> None:
        """Tells what was not told yet."""
        self._tell(self._linear.source_bytes - self._told_bytes)
        self._told_bytes = self._linear.source_bytes

    def _iter_dense(self) -> Iterator[tuple[slice, npt.NDArray[np.float32]]]:
        for rows, block in iter_dense(self._linear):
            yield rows, block
            done = self._linear.source_bytes * rows.stop // self._linear.shape[0]
            if done - self._told_bytes >= _TOLD_BYTES and rows.stop < self._linear.shape[0]:
                self._tell(done - self._told_bytes)
                self._told_bytes = done


def part_bytes(part: SourcePart) -> int:
    """Source bytes of a part."""
    return sum(t.source_bytes for t in part.linears) + sum(v.source_bytes for v in part.vectors)


def _step_name(stem: str) -> str:
    """`layer_03` -> `layer 3`, its experts likewise; the other files keep their names."""
    layer = _LAYER.match(stem)
    return Sentence("layer {number}", number=int(layer[1])) if layer else stem
