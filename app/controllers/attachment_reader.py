"""Files that shall go with a message, read off the GUI thread."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.chat.attachments import Attachment, read_attachment
from app.controllers.function_queue import FunctionQueue
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
        self._unread: list[Path] = []
        self._queue = FunctionQueue(self)
        self._queue.returned.connect(self._on_queue_returned)
        self._queue.errored.connect(self._on_queue_errored)

    @property
    def unread(self) -> tuple[Path, ...]:
        """What has not arrived yet, in the order of reading."""
        return tuple(self._unread)

    def add(self, paths: Sequence[Path]) -> None:
        """Reads these, behind those that wait."""
        self._unread.extend(paths)
        for path in paths:
            self._queue.add(partial(read_attachment, path))

    def shutdown(self) -> None:
        """Waits for the file that is read; the others are not."""
        self._queue.clear()
        self._queue.shutdown()

    @Slot(object)
    def _on_queue_returned(self, attachment: Attachment) -> None:
        self._unread.pop(0)
        self.read.emit(attachment)

    @Slot(object)
    def _on_queue_errored(self, error: ErrorInfo) -> None:
        self._unread.pop(0)
        self.failed.emit(error)
