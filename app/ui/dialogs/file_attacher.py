"""Brings files to the composer: asked for by its button, or dropped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QFileDialog

from app.controllers.attachment_reader import AttachmentReader
from app.ui.widgets.composer import Composer


class FileAttacher(QObject):
    """Signals:
    failed(ErrorInfo): a file cannot be attached.
    """

    failed = Signal(object)

    def __init__(self, composer: Composer) -> None:
        super().__init__(composer)
        self._composer = composer
        self.reader = AttachmentReader(self)
        self.reader.read.connect(composer.files.add)
        self.reader.failed.connect(self.failed)
        composer.attach_requested.connect(self.ask)

    def attach(self, paths: Sequence[Path]) -> None:
        """Reads files that go with the next message."""
        self.reader.add(paths)
        self._composer.setFocus()

    def ask(self) -> None:
        """Lets the user choose some."""
        dialog = QFileDialog(self._composer)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setWindowTitle(self.tr("Attach text or PDF files"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.filesSelected.connect(lambda names: self.attach([Path(name) for name in names]))
        dialog.open()
