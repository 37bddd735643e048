"""The requests of the port: those that run, and the latest of those that have ended. No Qt."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from datetime import datetime

from app.core.server_events import (
    ServerRequestEvent,
    ServerRequestFinished,
    ServerRequestState,
)

MAX_FINISHED = 200


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """What was told last of a request, and when it began, in local time."""

    event: ServerRequestEvent
    started: datetime

    @property
    def duration_s(self) -> float:
        """Of one that has ended; 0 before."""
        return self.event.duration_s if isinstance(self.event, ServerRequestFinished) else 0.0

    @property
    def error(self) -> str:
        """The sentence of one that failed."""
        return self.event.error if isinstance(self.event, ServerRequestFinished) else ""


class RequestLog:
    """Feeds on the port's events."""

    def __init__(self) -> None:
        self._running: dict[str, LoggedRequest] = {}
        self._finished: deque[LoggedRequest] = deque(maxlen=MAX_FINISHED)
        self.num_finished = 0

    @property
    def running(self) -> tuple[LoggedRequest, ...]:
        """In the order of their coming."""
        return tuple(self._running.values())

    @property
    def finished(self) -> tuple[LoggedRequest, ...]:
        """The last MAX_FINISHED, the latest first."""
        return tuple(reversed(self._finished))

    @property
    def tok_s(self) -> float:
        """Of all that run, together."""
        return sum(request.event.tok_s for request in self._running.values())

    def add(self, event: ServerRequestEvent) -> None:
        """What is told of a request."""
        known = self._running.get(event.request_id)
        request = LoggedRequest(event, known.started if known else datetime.now())
        if isinstance(event, ServerRequestFinished):
            self._running.pop(event.request_id, None)
            self._finished.append(request)
            self.num_finished += 1
        else:
            self._running[event.request_id] = request

    def end_all(self, error: str) -> None:
        """Whatever runs has failed, for this reason: nobody is left to tell of it."""
        for request in self.running:
            event = request.event
            last = ServerRequestFinished(
                event.request_id,
                event.client,
                event.model,
                event.path,
                ServerRequestState.FAILED,
                event.status,
                event.prompt_tokens,
                event.completion_tokens,
                error=error,
                duration_s=(datetime.now() - request.started).total_seconds(),
            )
            self.add(last)

    def clear(self) -> None:
        """Forgets those that have ended."""
        self._finished.clear()
        self.num_finished = 0
