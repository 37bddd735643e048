"""Asks for files or a folder to convert."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFileDialog, QWidget


class SourceDialog(QFileDialog):
    """The platform's own dialog; deletes itself when closed.

    Signals:
        paths_chosen(list[Path])
    """

    paths_chosen = Signal(object)

    def __init__(self, *, wants_folder: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if wants_folder:
            self.setWindowTitle(self.tr("Choose a model folder"))
            self.setFileMode(QFileDialog.FileMode.Directory)
        else:
            self.setWindowTitle(self.tr("Choose a model file"))
            self.setFileMode(QFileDialog.FileMode.ExistingFiles)
            self.setNameFilters([self.tr("GGUF models (*.gguf)"), self.tr("All files (*)")])
        self.filesSelected.connect(self._on_files_selected)

    def _on_files_selected(self, names: list[str]) -> None:
        self.paths_chosen.emit([Path(name) for name in names])
