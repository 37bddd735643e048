"""The choices of one request in the engine, heard on the event loop.

The engine's thread never waits for a client: it leaves events in a buffer and wakes the loop once
for all that have come since the last look. A client that leaves more than so many unread is slow,
and is given up.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Sequence
from functools import partial

from app.core.errors import EngineError
from app.core.events import Event, RequestFailed, RequestFinished
from app.engine.host import EngineHost
from app.engine.request import Request

ChoiceEvent = tuple[int, Event]


class Generation:
    """Belongs to the loop it was made on, but for `cancel`."""

    def __init__(self, host: EngineHost, requests: Sequence[Request], max_buffered: int) -> None:
        self._host = host
        self._requests = tuple(requests)
        self._max_buffered = max_buffered
        self._loop = asyncio.get_running_loop()
        self._buffer: deque[ChoiceEvent] = deque()
        self._has_events = asyncio.Event()
        self._is_woken = False
        self._num_unfinished = len(self._requests)
        self.overrun = asyncio.Event()

    @property
    def is_over(self) -> bool:
        """Whether the last event of the last choice was read."""
        return self._num_unfinished == 0

    def start(self) -> None:
        """Queues every choice; raises EngineError when the engine was closed."""
        for index, request in enumerate(self._requests):
            self._host.submit(request, on_event=partial(self._put, index))

    def cancel(self) -> None:
        """Ends what still runs within one step. From any thread."""
        for index in range(len(self._requests)):
            self.cancel_choice(index)

    def cancel_choice(self, index: int) -> None:
        """Ends one choice; a host that was closed has ended it already. From any thread."""
        with contextlib.suppress(EngineError):
            self._host.cancel(self._requests[index].request_id)

    async def read(self, timeout_s: float | None = None) -> list[ChoiceEvent]:
        """All events since the last call, at least one; none after `timeout_s`."""
        try:
            async with asyncio.timeout(timeout_s):
                # What an earlier call took may still wake this one.
                while not self._buffer:
                    self._has_events.clear()
                    await self._has_events.wait()
        except TimeoutError:
            return []
        return self._take()

    def _take(self) -> list[ChoiceEvent]:
        events = [self._buffer.popleft() for _ in range(len(self._buffer))]
        self._num_unfinished -= sum(
            isinstance(event, RequestFinished | RequestFailed) for _, event in events
        )
        return events

    def _put(self, index: int, event: Event) -> None:
        """On the engine's thread."""
        self._buffer.append((index, event))
        if self._is_woken:
            return
        self._is_woken = True
        # The loop is gone where the port was closed and its clients with it: nobody reads on.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        # Set back first: an event that comes behind this line wakes the loop again.
        self._is_woken = False
        self._has_events.set()
        if len(self._buffer) > self._max_buffered:
            self.overrun.set()
            self.cancel()
