"""Files that shall go with a message, read off the GUI thread."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.chat.attachments import read_attachment
from app.controllers.threads import FunctionThread
from app.core.events import ErrorInfo


class AttachmentReader(QObject):
    """One file after the other.

    Signals (on the GUI thread):
        read(Attachment)
        failed(ErrorInfo): of one file; the next ones are read all the same.
    """

    read = Signal(object)
    failed = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: list[Path] = []
        self._reading: Path | None = None
        self._thread: FunctionThread | None = None

    @property
    def unread(self) -> tuple[Path, ...]:
        """What has not arrived yet, in the order of reading."""
        reading = (self._reading,) if self._reading is not None else ()
        return (*reading, *self._waiting)

    def add(self, paths: Sequence[Path]) -> None:
        """Reads these, behind those that wait."""
        self._waiting.extend(paths)
        self._begin_next()

    def shutdown(self) -> None:
        """Waits for the file that is read; the others are not."""
        self._waiting.clear()
        if self._thread is not None:
            self._thread.join()

    def _begin_next(self) -> None:
        if self._thread is None and self._waiting:
            self._reading = self._waiting.pop(0)
            self._thread = FunctionThread(partial(read_attachment, self._reading), self)
            self._thread.returned.connect(self._on_thread_returned)
            self._thread.errored.connect(self._on_thread_errored)
            self._thread.start()

    @Slot(object)
    def _on_thread_returned(self, attachment: object) -> None:
        self._drop_thread()
        self.read.emit(attachment)
        self._begin_next()

    @Slot(object)
    def _on_thread_errored(self, error: ErrorInfo) -> None:
        self._drop_thread()
        self.failed.emit(error)
        self._begin_next()

    def _drop_thread(self) -> None:
        if self._thread is not None:
            self._thread.join()
            self._thread.deleteLater()
            self._thread = self._reading = None
