"""Where the models are kept, on the Settings page; moving them is a dialog's work."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QPushButton, QWidget

from app.ui.theme import set_role, ui_font


class LibraryFolderRow(QWidget):
    """Signals:
    move_requested: to another folder.
    """

    move_requested = Signal()

    def __init__(self, folder: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.folder = QLabel()
        self.folder.setWordWrap(True)
        self.folder.setFont(ui_font(0.92))
        self.folder.setTextFormat(Qt.TextFormat.PlainText)
        self.folder.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        set_role(self.folder, "tone", "muted")
        self.move_button = QPushButton(self.tr("Move…"))
        self.move_button.setAccessibleDescription(self.tr("Move the models to another folder"))
        self.move_button.clicked.connect(self.move_requested)
        layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setHorizontalSpacing(24)
        layout.setVerticalSpacing(2)
        layout.addWidget(QLabel(self.tr("Folder of the models")), 0, 0)
        layout.addWidget(self.folder, 1, 0)
        layout.addWidget(self.move_button, 0, 1, 2, 1)
        layout.setColumnStretch(0, 1)
        self.show_folder(folder)

    def show_folder(self, folder: Path) -> None:
        """The library is here now."""
        self.folder.setText(str(folder))
