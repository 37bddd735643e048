"""Calls as a JSON array behind a marker: `<|tool_call|>[{...}, {...}]`, as Granite writes them."""

from __future__ import annotations

from collections.abc import Sequence

from app.engine.output_parser.deltas import Delta
from app.engine.output_parser.format_parser import CallWriter
from app.engine.output_parser.json_call import JsonCallReader
from app.engine.output_parser.json_scanner import ScanStatus
from app.engine.output_parser.markers import may_become

_BETWEEN = " \t\r\n,"


class CallListReader:
    """Reads the array, or one object without brackets.

    `endings` may stand behind it. `raw` is what was read since the last call, for content when it
    breaks.
    """

    def __init__(self, calls: CallWriter, endings: Sequence[str] = ()) -> None:
        self._calls = calls
        self._endings = tuple(endings)
        self._reader: JsonCallReader | None = None
        self._is_begun = False
        self._is_array = False
        self._num_calls = 0
        self.raw = ""
        self.status = ScanStatus.OPEN

    def add(self, text: str, deltas: list[Delta]) -> str:
        """Reads as far as it can; returns what is left, which comes again while OPEN."""
        while self.status is ScanStatus.OPEN:
            before, reader = text, self._reader
            text = self._between(text) if reader is None else self._read(text, reader, deltas)
            if text == before and self._reader is reader:
                break
        return text

    def flush(self, deltas: list[Delta]) -> str:
        """The reply ends here: what turns out to be content."""
        if self._reader is None:
            return self.raw if not self._num_calls else ""
        if self._reader.is_begun:
            deltas += self._calls.end()
            return ""
        return self.raw + self._reader.raw

    def _between(self, text: str) -> str:
        """To the next object, or over the end of the array."""
        stripped = text.lstrip(_BETWEEN if self._is_begun else None)
        self.raw += text[: len(text) - len(stripped)]
        if not stripped or any(may_become(stripped, ending) for ending in self._endings):
            return stripped
        if stripped[0] == "[" and not self._is_begun:
            self._is_begun = self._is_array = True
            self.raw += "["
            return stripped[1:]
        if stripped[0] == "{" and (self._is_array or not self._is_begun):
            self._is_begun = True
            self._reader = JsonCallReader(self._calls)
            return stripped
        return self._end(stripped)

    def _end(self, text: str) -> str:
        if self._is_array and text[0] == "]":
            self._is_array = False
            return text[1:]
        self.status = ScanStatus.COMPLETE if self._num_calls else ScanStatus.BROKEN
        for ending in self._endings:
            if text.startswith(ending):
                return text.removeprefix(ending)
        return text

    def _read(self, text: str, reader: JsonCallReader, deltas: list[Delta]) -> str:
        text = reader.add(text, deltas)
        if reader.status is ScanStatus.COMPLETE:
            self._num_calls += 1
            self._reader, self.raw = None, ""
        elif reader.status is ScanStatus.BROKEN:
            self.raw = "" if reader.is_begun else self.raw + reader.raw
            self.status = ScanStatus.BROKEN
        return text
