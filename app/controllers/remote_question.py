"""A question to another server, asked on a thread; the answer comes on the GUI thread."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from app.controllers.threads import FunctionThread
from app.core.events import ErrorInfo

Ask = Callable[[], Coroutine[Any, Any, object]]


class RemoteQuestion(QObject):
    """Asked at once. `ask` may import what is slow: it is called on the thread.

    Signals (at most one of both, on the GUI thread):
        answered(object): what `ask` returned.
        failed(ErrorInfo)
    """

    answered = Signal(object)
    failed = Signal(object)

    def __init__(self, ask: Ask, parent: QObject | None = None) -> None:
        super().__init__(parent)
        from app.remote.loop_task import LoopTask

        self._task = LoopTask(ask)
        self._thread = FunctionThread(self._task.run, self)
        self._thread.returned.connect(self._on_thread_returned)
        self._thread.errored.connect(self._on_thread_errored)
        self._thread.start()

    def give_up(self) -> None:
        """Breaks off; no signal comes after that. Nothing here waits: a name server that is silent
        cannot be interrupted.
        """
        self.blockSignals(True)
        self._task.cancel()
        self._thread.finished.connect(self.deleteLater)
        if self._thread.isFinished():
            self.deleteLater()

    def join(self) -> None:
        """Waits for the end."""
        self._thread.join()

    @Slot(object)
    def _on_thread_returned(self, answer: object) -> None:
        self.answered.emit(answer)

    @Slot(object)
    def _on_thread_errored(self, error: ErrorInfo) -> None:
        self.failed.emit(error)
