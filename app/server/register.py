"""The requests that the port works on: the limit of their number, their events, their counts."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import Any, TypeVar

from app.core.events import Event, PrefillProgressed, RequestFinished, TokensGenerated
from app.core.server_events import (
    ServerRequestEvent,
    ServerRequestFinished,
    ServerRequestProgressed,
    ServerRequestStarted,
    ServerRequestState,
)
from app.server.error_map import ApiError
from app.server.histogram import Histogram

_logger = logging.getLogger(__name__)

_PROGRESS_INTERVAL_S = 0.25
_RETRY_AFTER_S = 1

Listener = Callable[[Event], None]
EventType = TypeVar("EventType", bound=ServerRequestEvent)


class Entry:
    """One request of a client, from when it was let in to its last byte."""

    def __init__(
        self, register: Register, request_id: str, client: str, model: str, path: str
    ) -> None:
        self.request_id = request_id
        self.client = client
        self.is_cancelled = False
        self._register = register
        self._model = model
        self._path = path
        self._state = ServerRequestState.WAITING
        self._prompt_tokens: dict[int, int] = {}
        self._completion_tokens = 0
        self._started_s = time.monotonic()
        self._first_token_s: float | None = None
        self._told_s = self._started_s
        self._cancel: Callable[[], None] = lambda: None

    @property
    def duration_s(self) -> float:
        """Since it was let in."""
        return time.monotonic() - self._started_s

    def on_cancel(self, cancel: Callable[[], None]) -> None:
        """What ends the work of this request; callable from any thread."""
        self._cancel = cancel
        if self.is_cancelled:
            cancel()

    def cancel(self) -> None:
        """Somebody at this machine wants it to end. From any thread."""
        self.is_cancelled = True
        self._cancel()

    def note(self, index: int, event: Event) -> None:
        """An event of choice `index`."""
        if isinstance(event, PrefillProgressed):
            self._prompt_tokens[index] = event.num_prompt
            if self._first_token_s is None:
                self._state = ServerRequestState.PREFILL
        elif isinstance(event, TokensGenerated):
            self._completion_tokens += len(event.token_ids)
            if self._first_token_s is None:
                self._note_first_token()
        elif isinstance(event, RequestFinished):
            self._prompt_tokens[index] = event.usage.prompt_tokens
        self._tell_progress()

    def close(self, state: ServerRequestState, status: int, error: str = "") -> None:
        """The last byte was sent, or none will be."""
        self._state = state
        end = self.describe(ServerRequestFinished, status, error=error, duration_s=self.duration_s)
        self._register.close(self, end)

    def describe(
        self, kind: type[EventType], status: int | None = None, **further: Any
    ) -> EventType:
        """What stands in the list of requests now, as an event of that kind."""
        return kind(
            request_id=self.request_id,
            client=self.client,
            model=self._model,
            path=self._path,
            state=self._state,
            status=status,
            prompt_tokens=max(self._prompt_tokens.values(), default=0),
            completion_tokens=self._completion_tokens,
            tok_s=self._measure_speed(),
            **further,
        )

    def _note_first_token(self) -> None:
        self._first_token_s = time.monotonic()
        self._state = ServerRequestState.DECODING
        self._register.ttft_s.add(self._first_token_s - self._started_s)

    def _measure_speed(self) -> float:
        if self._first_token_s is None or self._completion_tokens < 2:
            return 0.0
        elapsed_s = time.monotonic() - self._first_token_s
        return (self._completion_tokens - 1) / elapsed_s if elapsed_s > 0 else 0.0

    def _tell_progress(self) -> None:
        now = time.monotonic()
        if now - self._told_s >= _PROGRESS_INTERVAL_S:
            self._told_s = now
            self._register.tell(self.describe(ServerRequestProgressed))


class Register:
    """All entries that are open, and what became of the others.

    Belongs to the event loop's thread, but for `cancel` and `cancel_all`. Requests are numbered
    through, so that the window's list and the log speak of the same ones.
    """

    def __init__(self, max_requests: int, listener: Listener | None = None) -> None:
        self._max_requests = max_requests
        self._listener = listener
        self._entries: dict[str, Entry] = {}
        self._numbers = count(1)
        self.num_by_status: Counter[tuple[str, int]] = Counter()
        self.ttft_s = Histogram()

    @property
    def num_open(self) -> int:
        """Requests that are worked on or wait."""
        return len(self._entries)

    def open(self, client: str, model: str, path: str) -> Entry:
        """Lets a request in; raises ApiError 429 when there are too many."""
        if len(self._entries) >= self._max_requests:
            self.num_by_status[path, 429] += 1
            raise ApiError(
                429,
                f"{len(self._entries)} requests are worked on or wait, which is the limit here; "
                "try again in a moment.",
                code="rate_limit_exceeded",
                headers={"Retry-After": str(_RETRY_AFTER_S)},
            )
        entry = Entry(self, f"req-{next(self._numbers)}", client, model, path)
        self._entries[entry.request_id] = entry
        self.tell(entry.describe(ServerRequestStarted))
        return entry

    def close(self, entry: Entry, event: ServerRequestFinished) -> None:
        """For an entry: its end."""
        if self._entries.pop(entry.request_id, None) is None:
            return
        self.num_by_status[event.path, event.status or 0] += 1
        _log_end(event)
        self.tell(event)

    def cancel(self, request_id: str) -> None:
        """Ends one request; nothing when it has ended. From any thread."""
        entry = self._entries.get(request_id)
        if entry is not None:
            entry.cancel()

    def cancel_all(self) -> None:
        """Ends every request. From any thread."""
        for entry in list(self._entries.values()):
            entry.cancel()

    def tell(self, event: Event) -> None:
        """To whoever listens."""
        if self._listener is not None:
            self._listener(event)


def _log_end(event: ServerRequestFinished) -> None:
    _logger.info(
        "%s %s %s %d from %s: %d + %d tokens, %.1f tokens/s, %.2f s, %s%s",
        *(event.request_id, event.path, event.model, event.status, event.client),
        *(event.prompt_tokens, event.completion_tokens, event.tok_s, event.duration_s),
        event.state,
        f": {event.error}" if event.error else "",
    )
