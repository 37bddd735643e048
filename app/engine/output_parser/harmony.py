"""The channels of gpt-oss: a reply is messages, each behind a header.

`<|channel|>analysis<|message|>` is reasoning, `final` and a `commentary` to nobody are content, and
`<|channel|>commentary to=functions.name <|constrain|>json<|message|>{...}<|call|>` is a call.
"""

from __future__ import annotations

import re
from enum import Enum

from app.engine.output_parser.deltas import ContentDelta, Delta, ReasoningDelta
from app.engine.output_parser.format_parser import CallWriter, SteppedParser
from app.engine.output_parser.markers import may_become, split_at_marker

START, CHANNEL, MESSAGE = "<|start|>", "<|channel|>", "<|message|>"
END, CALL, RETURN, CONSTRAIN = "<|end|>", "<|call|>", "<|return|>", "<|constrain|>"
MARKERS = (START, CHANNEL, MESSAGE, END, CALL, RETURN, CONSTRAIN)
_HEADER_BEGINS = (START, CHANNEL, MESSAGE, " to=", "to=")
_RECIPIENT = re.compile(r"\bto=([^\s<]+)")
_CHANNEL_NAME = re.compile(r"<\|channel\|>\s*(\w+)")
_MAX_HEADER_CHARS = 300


class _Place(Enum):
    BETWEEN = "between"
    HEADER = "header"
    THOUGHTS = "thoughts"
    CONTENT = "content"
    CALL = "call"


class HarmonyParser(SteppedParser):
    """Text without a header is content."""

    def __init__(self) -> None:
        super().__init__()
        self._calls = CallWriter()
        self._place = _Place.BETWEEN
        self._is_written = {_Place.THOUGHTS: False, _Place.CONTENT: False}
        self._break = ""  # between two messages of one kind

    def flush(self) -> list[Delta]:
        """See `FormatParser.flush`; a header that was cut off is nothing to show."""
        rest, self._buffer = self._buffer, ""
        deltas: list[Delta] = []
        if self._place is _Place.BETWEEN:
            self._enter(_Place.CONTENT)
            rest = "" if any(may_become(rest, marker) for marker in _HEADER_BEGINS) else rest
        if self._place is not _Place.HEADER:
            self._write(rest, deltas)
        return deltas + self._calls.end()

    def _step(self, deltas: list[Delta]) -> bool:
        if self._place is _Place.BETWEEN:
            return self._decide()
        if self._place is _Place.HEADER:
            return self._read_header(deltas)
        return self._read_body(deltas)

    def _decide(self) -> bool:
        """What stands behind a message: the next one's header, or bare text."""
        if not self._buffer:
            return False
        if self._buffer.startswith(_HEADER_BEGINS):
            self._place = _Place.HEADER
        elif any(may_become(self._buffer, marker) for marker in _HEADER_BEGINS):
            return False
        else:
            self._enter(_Place.CONTENT)
        return True

    def _read_header(self, deltas: list[Delta]) -> bool:
        header, marker, body = self._buffer.partition(MESSAGE)
        if not marker and len(header) <= _MAX_HEADER_CHARS:
            return False
        if len(header) > _MAX_HEADER_CHARS:  # no header, whatever it is
            self._enter(_Place.CONTENT)
            for special in (START, CHANNEL):
                self._buffer = self._buffer.removeprefix(special)
            return True
        self._buffer = body
        recipient, channel = _RECIPIENT.search(header), _CHANNEL_NAME.search(header)
        if recipient:
            self._place = _Place.CALL
            deltas += self._calls.start(recipient[1].removeprefix("functions."))
        else:
            is_thought = channel is not None and channel[1] == "analysis"
            self._enter(_Place.THOUGHTS if is_thought else _Place.CONTENT)
        return True

    def _read_body(self, deltas: list[Delta]) -> bool:
        text, marker, rest = split_at_marker(self._buffer, (END, CALL, RETURN, START, CHANNEL))
        self._write(text, deltas)
        self._buffer = rest
        if not marker:
            return False
        if marker in (START, CHANNEL):  # the model forgot the end
            self._buffer = marker + rest
        deltas += self._calls.end()
        self._place = _Place.BETWEEN
        return True

    def _enter(self, place: _Place) -> None:
        self._place = place
        self._break = "\n\n" if self._is_written[place] else ""

    def _write(self, text: str, deltas: list[Delta]) -> None:
        if not text:
            return
        if self._place is _Place.CALL:
            deltas += self._calls.write(text)
            return
        text, self._break = self._break + text, ""
        self._is_written[self._place] = True
        is_content = self._place is _Place.CONTENT
        deltas.append(ContentDelta(text) if is_content else ReasoningDelta(text))
