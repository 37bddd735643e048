"""Calls between `<tool_call>` and `</tool_call>`: Hermes, Qwen and models like them.

Between the markers stands a JSON object, or, as the coders among Qwen's models write it, an element
`<function=...>`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from app.engine.output_parser.deltas import Delta
from app.engine.output_parser.format_parser import CallWriter, SteppedParser, append_content
from app.engine.output_parser.function_element import parse_function_element
from app.engine.output_parser.json_call import JsonCallReader
from app.engine.output_parser.json_scanner import ScanStatus
from app.engine.output_parser.markers import Trimmer, may_become, split_at_marker

OPENING, CLOSING = "<tool_call>", "</tool_call>"
_ELEMENT = "<function="


class _Place(Enum):
    CONTENT = "content"
    CALL = "call"
    JSON = "json"
    ELEMENT = "element"
    CALL_END = "call end"


class HermesParser(SteppedParser):
    """`tools` are OpenAI's objects: they tell the types of an element's parameters."""

    def __init__(self, tools: Sequence[Mapping[str, Any]]) -> None:
        super().__init__()
        self._tools = tools
        self._calls = CallWriter()
        self._reader = JsonCallReader(self._calls)
        self._place = _Place.CONTENT
        self._content = Trimmer(keeps_start=True)

    def flush(self) -> list[Delta]:
        """See `FormatParser.flush`."""
        rest, self._buffer = self._buffer, ""
        deltas: list[Delta] = []
        if self._place is _Place.JSON and self._reader.is_begun:
            return self._calls.end()
        if self._place is _Place.JSON:
            rest = OPENING + self._reader.raw
        elif self._place in (_Place.CALL, _Place.ELEMENT):
            rest = OPENING + rest
        elif self._place is _Place.CALL_END:
            rest = "" if may_become(rest.strip(), CLOSING) else rest
        self._show(rest, deltas)
        append_content(self._content.flush(), deltas)
        return deltas

    def _step(self, deltas: list[Delta]) -> bool:
        steps = {
            _Place.CONTENT: self._read_content,
            _Place.CALL: self._begin_call,
            _Place.JSON: self._read_json,
            _Place.ELEMENT: self._read_element,
            _Place.CALL_END: self._end_call,
        }
        return steps[self._place](deltas)

    def _read_content(self, deltas: list[Delta]) -> bool:
        text, marker, self._buffer = split_at_marker(self._buffer, [OPENING])
        self._show(text, deltas)
        if marker:
            self._place = _Place.CALL
        return bool(marker)

    def _begin_call(self, deltas: list[Delta]) -> bool:
        begun = self._buffer.lstrip()
        if not begun or may_become(begun, _ELEMENT):
            return False
        if begun.startswith(_ELEMENT):
            self._place = _Place.ELEMENT
        else:
            self._reader = JsonCallReader(self._calls)
            self._place = _Place.JSON
        return True

    def _read_json(self, deltas: list[Delta]) -> bool:
        self._buffer = self._reader.add(self._buffer, deltas)
        if self._reader.status is ScanStatus.OPEN:
            return False
        if self._reader.status is ScanStatus.COMPLETE:
            self._place = _Place.CALL_END
        else:
            self._place = _Place.CONTENT
            self._show("" if self._reader.is_begun else OPENING + self._reader.raw, deltas)
        return True

    def _read_element(self, deltas: list[Delta]) -> bool:
        if CLOSING not in self._buffer:
            return False
        element, _, self._buffer = self._buffer.partition(CLOSING)
        call = parse_function_element(element, self._tools)
        if call is None:
            self._show(OPENING + element + CLOSING, deltas)
        else:
            deltas += self._calls.start(call[0]) + self._calls.write(call[1]) + self._calls.end()
        self._after_call()
        return True

    def _end_call(self, deltas: list[Delta]) -> bool:
        """The closing marker; a model may forget it."""
        behind = self._buffer.lstrip()
        if not behind or may_become(behind, CLOSING):
            return False
        self._buffer = behind.removeprefix(CLOSING)
        self._after_call()
        return True

    def _after_call(self) -> None:
        """White space behind a call is no content."""
        self._place = _Place.CONTENT
        self._content = Trimmer()

    def _show(self, text: str, deltas: list[Delta]) -> None:
        append_content(self._content.add(text), deltas)
