"""A coroutine on a thread of the caller's, which any other thread can cancel at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Generic, TypeVar

from app.core.errors import JobCancelledError

T = TypeVar("T")


class LoopTask(Generic[T]):
    """Runs `work` once, on an event loop of its own."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._work = work
        self._loop = asyncio.new_event_loop()
        self._task: asyncio.Task[T] | None = None
        self._is_cancelled = False

    def run(self) -> T:
        """Waits for the result; raises what `work` raises, or JobCancelledError."""
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            try:
                return runner.run(self._supervise())
            except asyncio.CancelledError:
                raise JobCancelledError from None

    def cancel(self) -> None:
        """Closes the connection that is waited for; no effect after the end."""
        self._is_cancelled = True
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._cancel_task)

    async def _supervise(self) -> T:
        self._task = asyncio.ensure_future(self._work())
        if self._is_cancelled:
            self._task.cancel()
        return await self._task

    def _cancel_task(self) -> None:
        if self._task is not None:
            self._task.cancel()
