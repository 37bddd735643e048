"""A worker process whose events are read in order."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from typing import TypeVar

from app.core.events import (
    EngineState,
    EngineStateChanged,
    Event,
    JobFailed,
    RequestFailed,
    RequestFinished,
    TokensGenerated,
    WorkerDied,
)
from app.core.server_events import ServerFailed
from app.workers.commands import Command
from app.workers.process import WorkerProcess

WAIT_S = 240.0
_E = TypeVar("_E", bound=Event)


class Worker:
    """One service, as the window starts it; ends with the block."""

    def __init__(self, service: str) -> None:
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._process = WorkerProcess(service, self._events.put)

    def __enter__(self) -> Worker:
        self._process.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._process.stop()

    def send(self, command: Command) -> None:
        """Answered by events."""
        self._process.send(command)

    def wait_for(self, kind: type[_E]) -> _E:
        """The next event of this kind; what failed before it is raised."""
        return next(event for event in self._read() if isinstance(event, kind))

    def wait_until_ready(self) -> str:
        """The device of the model that is loaded."""
        for event in self._read():
            if isinstance(event, EngineStateChanged) and event.state is EngineState.READY:
                return event.model.device_note if event.model else ""
        raise AssertionError

    def read_reply(self) -> tuple[list[int], str]:
        """Tokens and text of the reply that comes next."""
        token_ids: list[int] = []
        text = ""
        for event in self._read():
            if isinstance(event, TokensGenerated):
                token_ids += event.token_ids
                text += event.text
            elif isinstance(event, RequestFinished):
                break
        return token_ids, text

    def _read(self) -> Iterator[Event]:
        """What comes; raises what failed, and TimeoutError when nothing comes any more."""
        while True:
            try:
                event = self._events.get(timeout=WAIT_S)
            except queue.Empty as error:
                raise TimeoutError(f"Nothing came within {WAIT_S:.0f} s.") from error
            if isinstance(event, JobFailed | RequestFailed | ServerFailed):
                raise event.error.to_exception()
            if isinstance(event, EngineStateChanged) and event.error is not None:
                raise event.error.to_exception()
            if isinstance(event, WorkerDied):
                raise RuntimeError(f"A worker process died with exit code {event.exit_code}.")
            yield event
