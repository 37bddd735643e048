"""Calls of Mistral's models behind `[TOOL_CALLS]`.

Older ones write an array of objects, newer ones `name[ARGS]{...}`, with `[CALL_ID]` and an id
before `[ARGS]` in between, and the marker before each call.
"""

from __future__ import annotations

import re
from enum import Enum

from app.engine.output_parser.call_list import CallListReader
from app.engine.output_parser.deltas import Delta
from app.engine.output_parser.format_parser import (
    CallWriter,
    SteppedParser,
    append_content,
    create_short_call_id,
)
from app.engine.output_parser.json_scanner import JsonScanner, ScanStatus
from app.engine.output_parser.markers import split_at_marker

TOOL_CALLS, ARGS, CALL_ID = "[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"
_HEAD = re.compile(r"\s*([^\s\[\]{}]+)\s*(?:\[CALL_ID\]\s*(\w*)\s*)?(?:\[ARGS\])?\s*")
_MAX_HEAD_CHARS = 200


class _Place(Enum):
    CONTENT = "content"
    BEGIN = "begin"
    LIST = "list"
    HEAD = "head"
    ARGUMENTS = "arguments"


class MistralParser(SteppedParser):
    """What breaks before a call has begun is content, markers included."""

    def __init__(self) -> None:
        super().__init__()
        self._calls = CallWriter(create_short_call_id)
        self._list = CallListReader(self._calls)
        self._scanner = JsonScanner()
        self._place = _Place.CONTENT

    def flush(self) -> list[Delta]:
        """See `FormatParser.flush`."""
        rest, self._buffer = self._buffer, ""
        deltas: list[Delta] = []
        if self._place is _Place.LIST:
            rest = self._list.flush(deltas) + rest
        if self._place in (_Place.BEGIN, _Place.HEAD):
            rest = TOOL_CALLS + rest
        append_content(rest, deltas)
        return deltas + self._calls.end()

    def _step(self, deltas: list[Delta]) -> bool:
        steps = {
            _Place.CONTENT: self._read_content,
            _Place.BEGIN: self._begin,
            _Place.LIST: self._read_list,
            _Place.HEAD: self._read_head,
            _Place.ARGUMENTS: self._read_arguments,
        }
        return steps[self._place](deltas)

    def _read_content(self, deltas: list[Delta]) -> bool:
        text, marker, self._buffer = split_at_marker(self._buffer, [TOOL_CALLS])
        append_content(text, deltas)
        if marker:
            self._place = _Place.BEGIN
        return bool(marker)

    def _begin(self, deltas: list[Delta]) -> bool:
        begun = self._buffer.lstrip()
        if not begun:
            return False
        self._list = CallListReader(self._calls)
        self._place = _Place.LIST if begun[0] in "[{" else _Place.HEAD
        return True

    def _read_list(self, deltas: list[Delta]) -> bool:
        self._buffer = self._list.add(self._buffer, deltas)
        if self._list.status is ScanStatus.OPEN:
            return False
        if self._list.status is ScanStatus.BROKEN:
            append_content(self._list.raw, deltas)
        self._place = _Place.CONTENT
        return True

    def _read_head(self, deltas: list[Delta]) -> bool:
        head, brace, _ = self._buffer.partition("{")
        found = _HEAD.fullmatch(head) if brace else None
        if found:
            self._buffer = self._buffer[len(head) :]
            self._scanner = JsonScanner()
            self._place = _Place.ARGUMENTS
            deltas += self._calls.start(found[1], found[2] or "")
            return True
        if brace or len(head) > _MAX_HEAD_CHARS:
            append_content(TOOL_CALLS, deltas)
            self._place = _Place.CONTENT
            return True
        return False

    def _read_arguments(self, deltas: list[Delta]) -> bool:
        taken, position = "", 0
        while position < len(self._buffer) and self._scanner.status is ScanStatus.OPEN:
            taken += self._scanner.take(self._buffer[position])
            position += 1
        self._buffer = self._buffer[position:]
        deltas += self._calls.write(taken)
        if self._scanner.status is ScanStatus.OPEN:
            return False
        deltas += self._calls.end()
        self._place = _Place.CONTENT
        return True
