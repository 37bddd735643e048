"""Content, and behind a marker an array of calls: Granite, Phi-4-mini."""

from __future__ import annotations

from app.engine.output_parser.call_list import CallListReader
from app.engine.output_parser.deltas import ContentDelta, Delta
from app.engine.output_parser.format_parser import CallWriter, FormatParser
from app.engine.output_parser.json_scanner import ScanStatus
from app.engine.output_parser.markers import split_at_marker

OPENING, CLOSING = "<|tool_call|>", "<|/tool_call|>"


class ListedCallsParser(FormatParser):
    """The closing marker may be missing."""

    def __init__(self) -> None:
        self._calls = CallWriter()
        self._list: CallListReader | None = None
        self._buffer = ""

    def add(self, text: str) -> list[Delta]:
        """See `FormatParser.add`."""
        self._buffer += text
        deltas: list[Delta] = []
        while self._step(deltas):
            pass
        return deltas

    def flush(self) -> list[Delta]:
        """See `FormatParser.flush`."""
        rest, self._buffer = self._buffer, ""
        deltas: list[Delta] = []
        if self._list is not None:
            rest = self._list.flush(deltas) + ("" if rest in ("", CLOSING[: len(rest)]) else rest)
        _show(rest, deltas)
        return deltas

    def _step(self, deltas: list[Delta]) -> bool:
        if self._list is None:
            text, marker, self._buffer = split_at_marker(self._buffer, [OPENING])
            _show(text, deltas)
            if marker:
                self._list = CallListReader(self._calls, [CLOSING])
            return bool(marker)
        self._buffer = self._list.add(self._buffer, deltas)
        if self._list.status is ScanStatus.OPEN:
            return False
        if self._list.status is ScanStatus.BROKEN:
            _show(self._list.raw, deltas)
        self._list = None
        return True


def _show(text: str, deltas: list[Delta]) -> None:
    if text:
        deltas.append(ContentDelta(text))
