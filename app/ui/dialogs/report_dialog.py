"""Asks where to save a report."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from app.ui.dialogs.save_dialog import SaveDialog


class ReportDialog(SaveDialog):
    """`path_chosen` tells the Markdown file."""

    def __init__(self, file_name: str, parent: QWidget | None = None) -> None:
        super().__init__("", "", file_name, parent)
        self.setWindowTitle(self.tr("Save the report"))
        self.setNameFilters([self.tr("Markdown, and JSON beside it (*.md)")])
        self.selectFile(file_name)
