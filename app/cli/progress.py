"""Progress on stderr: a bar that rewrites itself on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TextIO

_BAR_WIDTH = 30
_MIN_INTERVAL_S = 0.05
_LINES_WITHOUT_TERMINAL = 10


class ProgressBar:
    """A context manager; leaving it ends the line."""

    def __init__(self, label: str, stream: TextIO | None = None) -> None:
        self._label = label
        self._stream = stream or sys.stderr
        self._is_terminal = self._stream.isatty()
        self._last_s = 0.0
        self._last_line = ("", -1)
        self._width = 0

    def update(self, done: int, total: int, text: str = "", label: str = "") -> None:
        """Shows `done` of `total`; cheap enough for every tensor and token.

        `label`, where given, replaces the bar's own: another stage of the work, from 0 again.
        """
        fraction = min(1.0, done / total) if total else 1.0
        label = label or self._label
        line = (label, int(fraction * _LINES_WITHOUT_TERMINAL))
        if self._is_terminal:
            self._draw(fraction, text, label)
        elif line != self._last_line:
            self._last_line = line
            self._stream.write(f"{label}: {fraction:4.0%} {text}\n")
            self._stream.flush()

    def _draw(self, fraction: float, text: str, label: str) -> None:
        now = time.monotonic()
        if now - self._last_s < _MIN_INTERVAL_S and fraction < 1.0:
            return
        self._last_s = now
        bar = "#" * int(fraction * _BAR_WIDTH)
        line = f"{label} [{bar:<{_BAR_WIDTH}}] {fraction:4.0%} {text}"
        self._stream.write(f"\r{line:<{self._width}}")
        self._stream.flush()
        self._width = len(line)

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._is_terminal and self._width:
            self._stream.write("\n")
            self._stream.flush()
