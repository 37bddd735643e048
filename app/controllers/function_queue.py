"""Functions one after another off the GUI thread: a slow disk must not stop it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from PySide6.QtCore import QObject, Signal, Slot

from app.controllers.threads import FunctionThread
from app.core.events import ErrorInfo


class FunctionQueue(QObject):
    """Signals (on the GUI thread, exactly one of both for each function, in their order; by then
    `num_open` counts it no more):
        returned(object): what it returned.
        errored(ErrorInfo): what it raised; the next ones run all the same.
    """

    returned = Signal(object)
    errored = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: deque[Callable[[], object]] = deque()
        self._thread: FunctionThread | None = None

    @property
    def num_open(self) -> int:
        """Functions whose end was not told yet."""
        return len(self._waiting) + (self._thread is not None)

    def add(self, function: Callable[[], object]) -> None:
        """Calls it behind all that wait."""
        self._waiting.append(function)
        if self._thread is None:
            self._start_next()

    def clear(self) -> None:
        """Forgets those that wait."""
        self._waiting.clear()

    def shutdown(self) -> None:
        """Waits for the one that runs, and for those behind it; of these nothing is told."""
        while self._thread is not None:
            self._drop_thread()
            self._start_next()

    def _start_next(self) -> None:
        if self._waiting:
            self._thread = FunctionThread(self._waiting.popleft(), self)
            self._thread.returned.connect(self._on_thread_returned)
            self._thread.errored.connect(self._on_thread_errored)
            self._thread.start()

    def _drop_thread(self) -> None:
        if self._thread is not None:
            self._thread.join()
            self._thread.returned.disconnect(self._on_thread_returned)
            self._thread.errored.disconnect(self._on_thread_errored)
            self._thread.deleteLater()
            self._thread = None

    @Slot(object)
    def _on_thread_returned(self, result: object) -> None:
        self._drop_thread()
        self.returned.emit(result)
        self._go_on()

    @Slot(object)
    def _on_thread_errored(self, error: ErrorInfo) -> None:
        self._drop_thread()
        self.errored.emit(error)
        self._go_on()

    def _go_on(self) -> None:
        if self._thread is None:  # whoever heard of the end may have added another one
            self._start_next()
