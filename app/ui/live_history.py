"""What the live plots show and what is exported of them: the last ten minutes."""

from __future__ import annotations

import csv
import io
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.core.events import MemorySampled

WINDOW_S = 600.0
_COLUMNS = (
    "time",
    "weights_bytes",
    "kv_bytes",
    "workspace_bytes",
    "rest_bytes",
    "ceiling_bytes",
    "tokens_per_second",
)


@dataclass(frozen=True, slots=True)
class MemoryPoint:
    """Bytes by cause, as `MemorySampled.parts`; `time_s` is of a steady clock."""

    time_s: float
    parts: tuple[int, int, int, int]
    ceiling_bytes: int


@dataclass(frozen=True, slots=True)
class RatePoint:
    """Tokens per second; `time_s` is of a steady clock."""

    time_s: float
    tok_s: float


class LiveHistory:
    """Points in the order of their times; older ones than `WINDOW_S` are forgotten."""

    def __init__(self) -> None:
        self.memory: deque[MemoryPoint] = deque()
        self.rates: deque[RatePoint] = deque()

    def add_memory(self, sample: MemorySampled, now_s: float) -> None:
        """One more sample of the memory."""
        self.memory.append(MemoryPoint(now_s, sample.parts, sample.ceiling_bytes))
        _forget(self.memory, now_s)

    def add_rate(self, tok_s: float, now_s: float) -> None:
        """One more measurement of the speed."""
        self.rates.append(RatePoint(now_s, tok_s))
        _forget(self.rates, now_s)

    def to_csv(self, now_s: float, now: datetime) -> str:
        """A row per point, by time; `now` is the wall's clock at `now_s`."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(_COLUMNS)
        points: list[MemoryPoint | RatePoint] = [*self.memory, *self.rates]
        for point in sorted(points, key=lambda point: point.time_s):
            moment = now - timedelta(seconds=now_s - point.time_s)
            writer.writerow([moment.isoformat(timespec="milliseconds"), *_cells(point)])
        return text.getvalue()


def _cells(point: MemoryPoint | RatePoint) -> Iterator[object]:
    if isinstance(point, MemoryPoint):
        yield from (*point.parts, point.ceiling_bytes, "")
    else:
        yield from ("", "", "", "", "", f"{point.tok_s:.2f}")


def _forget(points: deque[MemoryPoint] | deque[RatePoint], now_s: float) -> None:
    while points[0].time_s < now_s - WINDOW_S:
        points.popleft()
