"""Content, and behind a marker an array of calls: Granite, Phi-4-mini."""

from __future__ import annotations

from app.engine.output_parser.call_list import CallListReader
from app.engine.output_parser.deltas import Delta
from app.engine.output_parser.format_parser import CallWriter, SteppedParser, append_content
from app.engine.output_parser.json_scanner import ScanStatus
from app.engine.output_parser.markers import split_at_marker

OPENING, CLOSING = "<|tool_call|>", "<|/tool_call|>"


class ListedCallsParser(SteppedParser):
    """The closing marker may be missing."""

    def __init__(self) -> None:
        super().__init__()
        self._calls = CallWriter()
        self._list: CallListReader | None = None

    def flush(self) -> list[Delta]:
        """See `FormatParser.flush`."""
        rest, self._buffer = self._buffer, ""
        deltas: list[Delta] = []
        if self._list is not None:
            rest = self._list.flush(deltas) + ("" if rest in ("", CLOSING[: len(rest)]) else rest)
        append_content(rest, deltas)
        return deltas

    def _step(self, deltas: list[Delta]) -> bool:
        if self._list is None:
            text, marker, self._buffer = split_at_marker(self._buffer, [OPENING])
            append_content(text, deltas)
            if marker:
                self._list = CallListReader(self._calls, [CLOSING])
            return bool(marker)
        self._buffer = self._list.add(self._buffer, deltas)
        if self._list.status is ScanStatus.OPEN:
            return False
        if self._list.status is ScanStatus.BROKEN:
            append_content(self._list.raw, deltas)
        self._list = None
        return True
