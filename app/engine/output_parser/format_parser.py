"""What every format's parser is, and how calls are numbered."""

from __future__ import annotations

import secrets
import string
from abc import ABC, abstractmethod
from collections.abc import Callable

from app.engine.output_parser.deltas import (
    ContentDelta,
    Delta,
    ToolCallArguments,
    ToolCallEnded,
    ToolCallStarted,
)

_ALPHANUMERIC = string.ascii_letters + string.digits


def create_call_id() -> str:
    """An id such as OpenAI's."""
    return f"call_{secrets.token_hex(12)}"


def create_short_call_id() -> str:
    """Nine letters and digits: Mistral's templates refuse other ids when the call comes back."""
    return "".join(secrets.choice(_ALPHANUMERIC) for _ in range(9))


class FormatParser(ABC):
    """Takes one reply apart. How its text is cut into pieces makes no difference."""

    @abstractmethod
    def add(self, text: str) -> list[Delta]:
        """What became certain with more text."""

    @abstractmethod
    def flush(self) -> list[Delta]:
        """The reply is over: what was held back."""


class SteppedParser(FormatParser):
    """Reads `_buffer` in steps, each of which takes what it can."""

    def __init__(self) -> None:
        self._buffer = ""

    def add(self, text: str) -> list[Delta]:
        """See `FormatParser.add`."""
        self._buffer += text
        deltas: list[Delta] = []
        while self._step(deltas):
            pass
        return deltas

    @abstractmethod
    def _step(self, deltas: list[Delta]) -> bool:
        """Appends what became certain; whether there may be more to read."""


def append_content(text: str, deltas: list[Delta]) -> None:
    """Text for the user, if there is any."""
    if text:
        deltas.append(ContentDelta(text))


class CallWriter:
    """Numbers the calls of a reply and writes their deltas."""

    def __init__(self, create_id: Callable[[], str] = create_call_id) -> None:
        self._create_id = create_id
        self._num_calls = 0
        self._is_open = False

    def start(self, name: str, call_id: str = "") -> list[Delta]:
        """A call begins, with an id of its own unless the model wrote one."""
        self._num_calls += 1
        self._is_open = True
        return [ToolCallStarted(self._num_calls - 1, call_id or self._create_id(), name)]

    def write(self, arguments: str) -> list[Delta]:
        """More of its arguments."""
        return [ToolCallArguments(self._num_calls - 1, arguments)] if arguments else []

    def end(self) -> list[Delta]:
        """The call that has begun is over; nothing where none has."""
        if not self._is_open:
            return []
        self._is_open = False
        return [ToolCallEnded(self._num_calls - 1)]
