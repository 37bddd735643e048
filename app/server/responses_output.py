"""A response's `output` as the deltas of its reply come in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.core.events import TokenLogprob
from app.engine.output_parser.deltas import (
    ContentDelta,
    Delta,
    ReasoningDelta,
    ToolCallArguments,
    ToolCallStarted,
)
from app.server.choice import JsonObject
from app.server.responses_items import (
    COMPLETED,
    INCOMPLETE,
    CallItem,
    ItemStatus,
    MessageItem,
    OutputItem,
    ReasoningItem,
    TextItem,
)


class ResponsesOutput:
    """One item is open at most: the one that is being written."""

    def __init__(self) -> None:
        self._done: list[JsonObject] = []
        self._open: OutputItem | None = None
        self._logprobs: list[TokenLogprob] = []

    @property
    def is_reasoning(self) -> bool:
        """Whether the model is thinking."""
        return isinstance(self._open, ReasoningItem)

    def add(
        self, deltas: Iterable[Delta], logprobs: Sequence[TokenLogprob] = ()
    ) -> list[JsonObject]:
        """The events of more deltas; probabilities go with the first text for the user behind them,
        those of thoughts and calls with nothing."""
        self._logprobs += logprobs
        return [event for delta in deltas for event in self._add(delta)]

    def end(self, *, was_cut: bool) -> list[JsonObject]:
        """The events of an end; a reply without a word is an empty message."""
        events = [] if self._done or self._open else self._start(MessageItem(0))
        return events + self._close(INCOMPLETE if was_cut else COMPLETED)

    def describe(self) -> list[JsonObject]:
        """All items, one that is still open as a part of itself."""
        return self._done + ([self._open.describe(INCOMPLETE)] if self._open else [])

    def _add(self, delta: Delta) -> list[JsonObject]:
        match delta:
            case ContentDelta(text):
                logprobs, self._logprobs = self._logprobs, []
                events, item = self._go_on(MessageItem)
                return events + item.add(text, logprobs)
            case ReasoningDelta(text):
                self._logprobs = []
                events, item = self._go_on(ReasoningItem)
                return events + item.add(text)
            case ToolCallStarted(_, call_id, name):
                self._logprobs = []
                return self._start(CallItem(self._next_index(), call_id, name))
            case ToolCallArguments(_, text):
                return self._open.add(text) if self._open else []
        return []

    def _go_on(self, kind: type[TextItem]) -> tuple[list[JsonObject], OutputItem]:
        """The open item where it is of that kind, else a new one, and the events of the change."""
        if isinstance(self._open, kind):
            return [], self._open
        item = kind(self._next_index())
        return self._start(item), item

    def _start(self, item: OutputItem) -> list[JsonObject]:
        events = self._close(COMPLETED)
        self._open = item
        return events + item.begin()

    def _close(self, status: ItemStatus) -> list[JsonObject]:
        if self._open is None:
            return []
        item, self._open = self._open, None
        self._done.append(item.describe(status))
        return item.end(status)

    def _next_index(self) -> int:
        return len(self._done) + (self._open is not None)
