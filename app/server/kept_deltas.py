"""The deltas of one reply that its client gets."""

from __future__ import annotations

from collections.abc import Iterable

from app.core.events import FinishReason
from app.engine.output_parser.deltas import Delta, ParsedReply, ToolCallStarted, join_deltas
from app.engine.output_parser.format_parser import FormatParser


class KeptDeltas:
    """Takes a reply apart. With `is_single_call` it ends with its first call (OpenAI's
    `parallel_tool_calls` false): then `is_complete`, and nothing of the rest is wanted."""

    def __init__(self, parser: FormatParser, *, is_single_call: bool = False) -> None:
        self._parser = parser
        self._is_single_call = is_single_call
        self._deltas: list[Delta] = []
        self.is_complete = False

    @property
    def has_calls(self) -> bool:
        """Whether the model wants a tool to be called."""
        return any(isinstance(delta, ToolCallStarted) for delta in self._deltas)

    def add(self, text: str) -> list[Delta]:
        """What became certain with more text."""
        return self._keep(self._parser.add(text))

    def flush(self) -> list[Delta]:
        """The reply is over: what was held back."""
        return self._keep(self._parser.flush())

    def join(self) -> ParsedReply:
        """What all of them add up to."""
        return join_deltas(self._deltas)

    def was_cut(self, reason: FinishReason) -> bool:
        """Whether a reply that ended so would have gone on."""
        return reason is FinishReason.LENGTH and not self.is_complete

    def _keep(self, deltas: Iterable[Delta]) -> list[Delta]:
        kept: list[Delta] = []
        for delta in deltas:
            is_second = isinstance(delta, ToolCallStarted) and delta.index > 0
            self.is_complete = self.is_complete or (self._is_single_call and is_second)
            if not self.is_complete:
                kept.append(delta)
        self._deltas += kept
        return kept
