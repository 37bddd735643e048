"""Thoughts between two markers before the answer: `<think>...</think>`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from app.engine.output_parser.deltas import ContentDelta, Delta, ReasoningDelta
from app.engine.output_parser.format_parser import FormatParser
from app.engine.output_parser.markers import Trimmer, may_become, split_at_marker


@dataclass(frozen=True, slots=True)
class ThinkMarkers:
    """`is_open`: the prompt ends within the block, so that the reply begins with thoughts."""

    opening: str = "<think>"
    closing: str = "</think>"
    is_open: bool = False


class _Place(Enum):
    START = "start"
    THOUGHTS = "thoughts"
    ANSWER = "answer"


class ThinkParser(FormatParser):
    """Thoughts as reasoning; what follows goes to the parser of the model's format."""

    def __init__(self, markers: ThinkMarkers, answer: FormatParser) -> None:
        self._markers = markers
        self._answer = answer
        self._place = _Place.THOUGHTS if markers.is_open else _Place.START
        self._trimmer = Trimmer()
        self._buffer = ""
        self._skips_white = False  # behind the block

    def add(self, text: str) -> list[Delta]:
        """See `FormatParser.add`."""
        self._buffer += text
        deltas: list[Delta] = []
        if self._place is _Place.START:
            self._decide()
        if self._place is _Place.THOUGHTS:
            deltas += self._think()
        if self._place is _Place.ANSWER:
            deltas += self._pass_on()
        return deltas

    def flush(self) -> list[Delta]:
        """See `FormatParser.flush`."""
        rest, self._buffer = self._buffer, ""
        if self._place is _Place.THOUGHTS:
            return _reasoning(self._trimmer.add(rest))
        return (self._answer.add(rest) if rest.strip() else []) + self._answer.flush()

    def _decide(self) -> None:
        begun = self._buffer.lstrip()
        if begun.startswith(self._markers.opening):
            self._buffer = begun.removeprefix(self._markers.opening)
            self._place = _Place.THOUGHTS
        elif not may_become(begun, self._markers.opening):
            self._place = _Place.ANSWER

    def _think(self) -> list[Delta]:
        thoughts, marker, self._buffer = split_at_marker(self._buffer, [self._markers.closing])
        if marker:
            self._place = _Place.ANSWER
            self._skips_white = True
        return _reasoning(self._trimmer.add(thoughts))

    def _pass_on(self) -> list[Delta]:
        text, self._buffer = self._buffer, ""
        if self._skips_white:
            text = text.lstrip()
            self._skips_white = not text
        return self._answer.add(text) if text else []


class PlainParser(FormatParser):
    """All is content."""

    def add(self, text: str) -> list[Delta]:
        """See `FormatParser.add`."""
        return [ContentDelta(text)] if text else []

    def flush(self) -> list[Delta]:
        """Nothing is held back."""
        return []


def _reasoning(text: str) -> list[Delta]:
    return [ReasoningDelta(text)] if text else []
