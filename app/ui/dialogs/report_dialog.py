"""Asks where to save a report."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFileDialog, QWidget


class ReportDialog(QFileDialog):
    """The platform's own dialog; deletes itself when closed.

    Signals:
        path_chosen(Path): of the Markdown file.
    """

    path_chosen = Signal(object)

    def __init__(self, file_name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Save the report"))
        self.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        self.setFileMode(QFileDialog.FileMode.AnyFile)
        self.setNameFilters([self.tr("Markdown, and JSON beside it (*.md)")])
        self.setDefaultSuffix("md")
        self.selectFile(file_name)
        self.fileSelected.connect(self._on_file_selected)

    def _on_file_selected(self, name: str) -> None:
        self.path_chosen.emit(Path(name))
