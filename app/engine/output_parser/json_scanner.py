"""One JSON object, character by character."""

from __future__ import annotations

import json
from enum import Enum

_WHITE = " \t\r\n"
# What stands outside strings: structure, numbers, true, false and null.
_OUTSIDE = frozenset('{}[],:"' + _WHITE + "0123456789+-.eE" + "truefalsn")
_CLOSES = {"{": "}", "[": "]"}
_ESCAPES = frozenset('"\\/bfnrtu')


class ScanStatus(Enum):
    """Where an object stands."""

    OPEN = "open"
    COMPLETE = "complete"
    BROKEN = "broken"


class JsonScanner:
    """Follows brackets and strings to where an object ends.

    Line breaks and unknown escapes inside strings, which models write and JSON forbids, are
    repaired.
    """

    def __init__(self) -> None:
        self.status = ScanStatus.OPEN
        self.in_string = False
        self._is_escaped = False
        self._open: list[str] = []

    @property
    def depth(self) -> int:
        """How many brackets are open."""
        return len(self._open)

    def take(self, char: str) -> str:
        """The next character, as JSON has it; nothing before the object."""
        if self.in_string:
            return self._take_in_string(char)
        if not self._open and char in _WHITE:
            return ""
        if char not in _OUTSIDE or (not self._open and char != "{"):
            self.status = ScanStatus.BROKEN
            return ""
        self._take_outside(char)
        return char

    def _take_in_string(self, char: str) -> str:
        if self._is_escaped:
            self._is_escaped = False
            return char if char in _ESCAPES else "\\" + json.dumps(char)[1:-1]
        self._is_escaped = char == "\\"
        self.in_string = char != '"'
        return json.dumps(char)[1:-1] if char < " " else char

    def _take_outside(self, char: str) -> None:
        if char == '"':
            self.in_string = True
        elif char in _CLOSES:
            self._open.append(char)
        elif char in "}]":
            if _CLOSES[self._open.pop()] != char:
                self.status = ScanStatus.BROKEN
            elif not self._open:
                self.status = ScanStatus.COMPLETE
