"""Replies as plain text in which thoughts always stand between `<think>` and `</think>`.

For whoever shows text and parses nothing: the window and the command line. Models differ in how
they mark thoughts, and some begin them in the prompt.
"""

from __future__ import annotations

from collections.abc import Iterable

from app.engine.output_parser.deltas import ContentDelta, Delta, ReasoningDelta
from app.engine.output_parser.format_parser import FormatParser
from app.engine.output_parser.reasoning import ThinkMarkers
from app.engine.stop_strings import StopStringMatcher

_MARKERS = ThinkMarkers()
_OPENING, _CLOSING = f"{_MARKERS.opening}\n", f"\n{_MARKERS.closing}\n\n"


class ThoughtText(StopStringMatcher):
    """Ends at stop strings, as the model writes them, and rewrites what comes before."""

    def __init__(self, stops: Iterable[str], parser: FormatParser) -> None:
        super().__init__(stops)
        self._parser = parser
        self._is_in_thoughts = False

    def add(self, text: str) -> str:
        """See `StopStringMatcher.add`."""
        return self._write(self._parser.add(super().add(text)))

    def flush(self) -> str:
        """See `StopStringMatcher.flush`."""
        return self._write(self._parser.add(super().flush()) + self._parser.flush())

    def _write(self, deltas: Iterable[Delta]) -> str:
        return "".join(map(self._text_of, deltas))

    def _text_of(self, delta: Delta) -> str:
        if not isinstance(delta, ReasoningDelta | ContentDelta):
            return ""
        was_in_thoughts = self._is_in_thoughts
        self._is_in_thoughts = isinstance(delta, ReasoningDelta)
        if self._is_in_thoughts == was_in_thoughts:
            return delta.text
        return (_OPENING if self._is_in_thoughts else _CLOSING) + delta.text
