"""What other threads ask of one thread, in the order in which they asked."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable

from app.core.errors import EngineError

Command = Callable[[], None]

_BUDGET_S = 0.05  # while replies wait: many requests that come at once do not stop them


class CommandQueue:
    """Filled from any thread, run by one."""

    def __init__(self) -> None:
        self._commands: queue.SimpleQueue[Command] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._is_closed = False

    def send(self, command: Command) -> None:
        """Raises EngineError after `close`."""
        with self._lock:
            if self._is_closed:
                raise EngineError("The engine was closed.")
            self._commands.put(command)

    def close(self, last: Command) -> None:
        """Sends the last command; nothing the second time."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._commands.put(last)

    def run(self, waits: bool, timeout_s: float | None) -> None:
        """Runs the commands that are there, for a moment at most.

        Without any, `waits` for the first, None: however long.
        """
        command = self._next(waits, timeout_s)
        deadline_s = time.monotonic() + _BUDGET_S
        while command is not None:
            command()
            command = None if time.monotonic() > deadline_s else self._next()

    def _next(self, waits: bool = False, timeout_s: float | None = None) -> Command | None:
        try:
            return self._commands.get(block=waits, timeout=timeout_s)
        except queue.Empty:
            return None
