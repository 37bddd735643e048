"""Asks where to save something."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFileDialog, QWidget


class SaveDialog(QFileDialog):
    """The platform's own dialog; deletes itself when closed. `name_filter` is Qt's, `*.csv`-like.

    Signals:
        path_chosen(Path)
    """

    path_chosen = Signal(object)

    def __init__(
        self, title: str, name_filter: str, file_name: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(title)
        self.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        self.setFileMode(QFileDialog.FileMode.AnyFile)
        self.setNameFilters([name_filter])
        self.setDefaultSuffix(Path(file_name).suffix.removeprefix("."))
        self.selectFile(file_name)
        self.fileSelected.connect(self._on_file_selected)

    def _on_file_selected(self, name: str) -> None:
        self.path_chosen.emit(Path(name))
