"""Files that the user asks for, written off the GUI thread: a slow disk must not stop it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.controllers.threads import FunctionThread
from app.core.events import ErrorInfo


class FileSaver(QObject):
    """One save at a time.

    Signals (on the GUI thread):
        saved(Path): the file.
        failed(ErrorInfo)
    """

    saved = Signal(object)
    failed = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._thread: FunctionThread | None = None

    def write(self, write: Callable[[], Path]) -> None:
        """Calls `write`, which returns the file it wrote; no effect while another save runs."""
        if self._thread is None:
            self._thread = FunctionThread(write, self)
            self._thread.returned.connect(self._on_thread_returned)
            self._thread.errored.connect(self._on_thread_errored)
            self._thread.start()

    def shutdown(self) -> None:
        """Waits for what runs."""
        if self._thread is not None:
            self._thread.join()

    @Slot(object)
    def _on_thread_returned(self, path: Path) -> None:
        self._drop_thread()
        self.saved.emit(path)

    @Slot(object)
    def _on_thread_errored(self, error: ErrorInfo) -> None:
        self._drop_thread()
        self.failed.emit(error)

    def _drop_thread(self) -> None:
        """It has told its result and is at its end; whoever hears of that may save again."""
        if self._thread is not None:
            self._thread.join()
            self._thread.deleteLater()
            self._thread = None
