"""Files that the user asks for, written off the GUI thread: a slow disk must not stop it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.controllers.function_queue import FunctionQueue


class FileSaver(QObject):
    """One save after another.

    Signals (on the GUI thread):
        saved(Path): the file.
        failed(ErrorInfo)
    """

    saved = Signal(object)
    failed = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._queue = FunctionQueue(self)
        self._queue.returned.connect(self.saved)
        self._queue.errored.connect(self.failed)

    def write(self, write: Callable[[], Path]) -> None:
        """Calls `write`, which returns the file it wrote."""
        self._queue.add(write)

    def shutdown(self) -> None:
        """Waits until all is written."""
        self._queue.shutdown()
