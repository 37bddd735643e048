"""What a caller holds of a request that the engine thread works on."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from app.core.events import (
    Event,
    FinishReason,
    RequestFailed,
    RequestFinished,
    TokensGenerated,
    Usage,
)


@dataclass(frozen=True, slots=True)
class Completion:
    """A whole reply. `token_ids` ends with the stop token if there was one, which `text` omits."""

    text: str
    token_ids: tuple[int, ...]
    finish_reason: FinishReason
    usage: Usage


class RequestHandle:
    """The events of one request, for one reader on any thread."""

    def __init__(
        self,
        request_id: str,
        cancel: Callable[[str], None],
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        """With `on_event` there is nothing to iterate: the events go there. `submitted_s` is by
        `time.monotonic`."""
        self.request_id = request_id
        self.submitted_s = time.monotonic()
        self._cancel = cancel
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._on_event = on_event or self._events.put
        self._is_over = False

    def cancel(self) -> None:
        """Asks for the end of the reply; it comes as RequestFinished, within one token."""
        self._cancel(self.request_id)

    def put(self, event: Event) -> None:
        """For the engine: an event of this request."""
        self._on_event(event)

    def __iter__(self) -> Iterator[Event]:
        """Waits for each event; ends after RequestFinished or RequestFailed."""
        while not self._is_over:
            event = self._events.get()
            self._is_over = isinstance(event, RequestFinished | RequestFailed)
            yield event

    def result(self) -> Completion:
        """Waits for the end; raises the AppError of a request that failed."""
        text: list[str] = []
        token_ids: list[int] = []
        for event in self:
            if isinstance(event, TokensGenerated):
                text.append(event.text)
                token_ids.extend(event.token_ids)
            elif isinstance(event, RequestFailed):
                raise event.error.to_exception()
            elif isinstance(event, RequestFinished):
                return Completion("".join(text), tuple(token_ids), event.finish_reason, event.usage)
        raise RuntimeError("The events of this request were read already.")
