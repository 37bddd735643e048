"""Calls of Llama 3: the whole reply is a JSON object, or follows `<|python_tag|>`."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum

from app.engine.output_parser.deltas import Delta
from app.engine.output_parser.format_parser import CallWriter, SteppedParser, append_content
from app.engine.output_parser.json_call import JsonCallReader
from app.engine.output_parser.json_scanner import ScanStatus
from app.engine.output_parser.markers import may_become, split_at_marker

PYTHON_TAG = "<|python_tag|>"
_SEPARATORS = " \t\r\n;,"


class _Place(Enum):
    START = "start"
    CALL = "call"
    CALL_END = "call end"
    CONTENT = "content"


class Llama3Parser(SteppedParser):
    """`known_names`: of the tools; a JSON object that names none of them is an answer."""

    def __init__(self, known_names: Collection[str]) -> None:
        super().__init__()
        self._known_names = known_names
        self._calls = CallWriter()
        self._reader = JsonCallReader(self._calls, known_names)
        self._place = _Place.START

    def flush(self) -> list[Delta]:
        """See `FormatParser.flush`."""
        rest, self._buffer = self._buffer, ""
        deltas: list[Delta] = []
        if self._place is _Place.CALL:
            if self._reader.is_begun:
                return self._calls.end()
            rest = self._reader.raw
        elif self._place is _Place.CALL_END:
            rest = rest if rest.strip(_SEPARATORS) else ""
        append_content(rest, deltas)
        return deltas

    def _step(self, deltas: list[Delta]) -> bool:
        steps = {
            _Place.START: self._begin,
            _Place.CALL: self._read_call,
            _Place.CALL_END: self._end_call,
            _Place.CONTENT: self._read_content,
        }
        return steps[self._place](deltas)

    def _begin(self, deltas: list[Delta]) -> bool:
        begun = self._buffer.lstrip()
        if not begun or may_become(begun, PYTHON_TAG):
            return False
        if begun.startswith((PYTHON_TAG, "{")):
            self._start_call(begun.removeprefix(PYTHON_TAG))
        else:
            self._place = _Place.CONTENT
        return True

    def _start_call(self, text: str) -> None:
        self._buffer = text
        self._reader = JsonCallReader(self._calls, self._known_names)
        self._place = _Place.CALL

    def _read_call(self, deltas: list[Delta]) -> bool:
        self._buffer = self._reader.add(self._buffer, deltas)
        if self._reader.status is ScanStatus.OPEN:
            return False
        if self._reader.status is ScanStatus.COMPLETE:
            self._place = _Place.CALL_END
        else:
            self._place = _Place.CONTENT
            append_content("" if self._reader.is_begun else self._reader.raw, deltas)
        return True

    def _end_call(self, deltas: list[Delta]) -> bool:
        """Another call, or text behind it."""
        behind = self._buffer.lstrip(_SEPARATORS)
        if not behind or may_become(behind, PYTHON_TAG):
            return False
        if behind.startswith((PYTHON_TAG, "{")):
            self._start_call(behind.removeprefix(PYTHON_TAG))
        else:
            self._place = _Place.CONTENT
        return True

    def _read_content(self, deltas: list[Delta]) -> bool:
        text, marker, self._buffer = split_at_marker(self._buffer, [PYTHON_TAG])
        append_content(text, deltas)
        if marker:
            self._start_call(self._buffer)
        return bool(marker)
