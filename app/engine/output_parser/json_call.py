"""A call written as a JSON object: `{"name": ..., "arguments": {...}}`.

Small models also write OpenAI's `{"type": "function", "function": {"name": ...}}`, or the name
under `function`.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from enum import Enum
from typing import Any

from app.engine.output_parser.deltas import Delta
from app.engine.output_parser.format_parser import CallWriter
from app.engine.output_parser.json_scanner import JsonScanner, ScanStatus

_ARGUMENT_KEYS = ("arguments", "parameters")


class _Place(Enum):
    """What stands at the top of the object."""

    KEY = "key"
    COLON = "colon"
    VALUE = "value"


class JsonCallReader:
    """Reads one call; its arguments are passed on while they are written.

    That is possible once the name is known; arguments that stand before it wait. `known_names`: an
    object with another name, or without arguments, is no call.
    """

    def __init__(self, calls: CallWriter, known_names: Collection[str] | None = None) -> None:
        self.raw = ""  # all that was read
        self.is_begun = False
        self._calls = calls
        self._known_names = known_names
        self._scanner = JsonScanner()
        self._is_refused = False
        self._place = _Place.KEY
        self._key = ""
        self._value: list[str] = []
        self._is_closed = False  # the value ended with its bracket or quotation mark
        self._members: dict[str, str] = {}
        self._passed_on: list[str] = []

    @property
    def status(self) -> ScanStatus:
        """BROKEN also for an object that is no call."""
        return ScanStatus.BROKEN if self._is_refused else self._scanner.status

    def add(self, text: str, deltas: list[Delta]) -> str:
        """Reads up to the object's end; returns the text behind it, and appends to `deltas`."""
        position = 0
        while position < len(text) and self.status is ScanStatus.OPEN:
            self._take(text[position], deltas)
            position += 1
        self.raw += text[:position]
        deltas += self._calls.write("".join(self._passed_on))
        self._passed_on.clear()
        if self.status is ScanStatus.COMPLETE:
            self._finish(deltas)
        elif self.status is ScanStatus.BROKEN:
            deltas += self._calls.end()
        return text[position:]

    def _take(self, char: str, deltas: list[Delta]) -> None:
        was_top = self._scanner.depth == 1 and not self._scanner.in_string
        was_outside = self._scanner.depth == 0
        taken = self._scanner.take(char)
        if was_outside or self._scanner.status is ScanStatus.BROKEN:
            return
        if was_top and char in ":,}":
            self._take_separator(char)
        elif not was_top or taken.strip():
            self._take_value(taken, deltas)

    def _take_separator(self, char: str) -> None:
        if char == ":":
            self._is_refused = self._place is not _Place.COLON
            self._place = _Place.VALUE
        else:
            self._store()
            self._place = _Place.KEY
        self._value, self._is_closed = [], False

    def _store(self) -> None:
        """A member is complete; a name tells whether this is a call."""
        if self._place is not _Place.VALUE:
            return
        value = self._members[self._key] = "".join(self._value)
        if self._key == "function" and value.startswith('"'):
            self._members["name"] = value
        if value == self._members.get("name"):
            self._is_refused = not self._is_name(_parse(value))

    def _is_name(self, name: Any) -> bool:
        if not isinstance(name, str) or not name:
            return False
        return self._known_names is None or name in self._known_names

    def _take_value(self, taken: str, deltas: list[Delta]) -> None:
        if self._is_closed or self._place is _Place.COLON:
            self._is_refused = True
            return
        self._value.append(taken)
        is_over = self._scanner.depth == 1 and not self._scanner.in_string
        self._is_closed = is_over and self._value[0] in ("{", "[", '"')
        if self._place is _Place.VALUE:
            self._pass_on(taken, deltas)
        elif is_over:
            self._take_key("".join(self._value))

    def _take_key(self, text: str) -> None:
        key = _parse(text)
        self._is_refused = not isinstance(key, str)
        self._key, self._place = str(key), _Place.COLON

    def _pass_on(self, taken: str, deltas: list[Delta]) -> None:
        """Arguments that are an object, behind the name."""
        if self._key not in _ARGUMENT_KEYS:
            return
        if not self.is_begun and self._value == ["{"] and "name" in self._members:
            self._begin(deltas)
        if self.is_begun:
            self._passed_on.append(taken)

    def _begin(self, deltas: list[Delta]) -> None:
        self.is_begun = True
        deltas += self._calls.start(_parse(self._members["name"]))

    def _finish(self, deltas: list[Delta]) -> None:
        if not self.is_begun:
            self._unwrap()
            arguments = self._find_arguments()
            self._is_refused = "name" not in self._members or arguments is None
            if self._is_refused or arguments is None:
                return
            self._begin(deltas)
            deltas += self._calls.write(arguments)
        deltas += self._calls.end()

    def _unwrap(self) -> None:
        """The call may stand under `function`."""
        function = _parse(self._members.get("function", ""))
        if isinstance(function, dict) and self._is_name(function.get("name")):
            texts = {key: json.dumps(value, ensure_ascii=False) for key, value in function.items()}
            self._members.update(texts)

    def _find_arguments(self) -> str | None:
        """Of arguments before the name, as text, or none at all; None for what is no object."""
        found = [self._members[key] for key in _ARGUMENT_KEYS if key in self._members]
        if not found:
            return "{}" if self._known_names is None else None
        text = "{}" if found[0] == "null" else found[0]
        value = _parse(text)
        if isinstance(value, str):
            text, value = value, _parse(value)
        return text if isinstance(value, dict) else None


def _parse(text: str) -> Any:
    """The JSON value; None for what is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
