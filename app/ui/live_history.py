"""What the live plots show and what is exported of them: the last ten minutes."""

from __future__ import annotations

import csv
import io
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.core.events import MemorySampled, PrefillProgressed

WINDOW_S = 600.0
_COLUMNS = (
    "time",
    "weights_bytes",
    "kv_bytes",
    "workspace_bytes",
    "rest_bytes",
    "ceiling_bytes",
    "tokens_per_second",
    "prompt_tokens_read",
    "prompt_tokens",
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


@dataclass(frozen=True, slots=True)
class PromptPoint:
    """How much of a prompt had been read; `tok_s` is the speed since its first chunk, 0 before
    there is a second one. `time_s` is of a steady clock."""

    time_s: float
    request_id: str
    num_done: int
    num_prompt: int
    tok_s: float


Point = MemoryPoint | RatePoint | PromptPoint


class LiveHistory:
    """Points in the order of their times; older ones than `WINDOW_S` are forgotten."""

    def __init__(self) -> None:
        self.memory: deque[MemoryPoint] = deque()
        self.rates: deque[RatePoint] = deque()
        self.prompts: deque[PromptPoint] = deque()
        self._first_chunk = PromptPoint(0.0, "", 0, 0, 0.0)

    @property
    def span_s(self) -> float:
        """From the first sample of the memory to the last."""
        return self.memory[-1].time_s - self.memory[0].time_s if self.memory else 0.0

    def add_memory(self, sample: MemorySampled, now_s: float) -> None:
        """One more sample of the memory."""
        self.memory.append(MemoryPoint(now_s, sample.parts, sample.ceiling_bytes))
        _forget(self.memory, now_s)

    def add_rate(self, tok_s: float, now_s: float) -> None:
        """One more measurement of the speed."""
        self.rates.append(RatePoint(now_s, tok_s))
        _forget(self.rates, now_s)

    def add_prompt(self, progress: PrefillProgressed, now_s: float) -> PromptPoint:
        """One more chunk of a prompt was read."""
        first = self._first_chunk
        is_first = progress.request_id != first.request_id or now_s <= first.time_s
        num_read = progress.num_done - first.num_done
        tok_s = 0.0 if is_first else num_read / (now_s - first.time_s)
        point = PromptPoint(
            now_s, progress.request_id, progress.num_done, progress.num_prompt, tok_s
        )
        if is_first:
            self._first_chunk = point
        self.prompts.append(point)
        _forget(self.prompts, now_s)
        return point

    def to_csv(self, now_s: float, now: datetime) -> str:
        """A row per point, by time; `now` is the wall's clock at `now_s`."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(_COLUMNS)
        points: list[Point] = [*self.memory, *self.rates, *self.prompts]
        for point in sorted(points, key=lambda point: point.time_s):
            moment = now - timedelta(seconds=now_s - point.time_s)
            writer.writerow([moment.isoformat(timespec="milliseconds"), *_cells(point)])
        return text.getvalue()


def _cells(point: Point) -> Iterator[object]:
    match point:
        case MemoryPoint():
            yield from (*point.parts, point.ceiling_bytes, "", "", "")
        case RatePoint():
            yield from ("", "", "", "", "", f"{point.tok_s:.2f}", "", "")
        case PromptPoint():
            yield from ("", "", "", "", "", "", point.num_done, point.num_prompt)


def _forget(
    points: deque[MemoryPoint] | deque[RatePoint] | deque[PromptPoint], now_s: float
) -> None:
    while points[0].time_s < now_s - WINDOW_S:
        points.popleft()
