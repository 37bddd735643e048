"""A source that is typed: a repository, or also a path, which can be picked by dialog."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPushButton, QWidget

from app.ui.theme import set_role


class SourceField(QWidget):
    """Signals:
    submitted(str): what was typed, without blanks around it.
    file_requested, folder_requested: pick by dialog.
    """

    submitted = Signal(str)
    file_requested = Signal()
    folder_requested = Signal()

    def __init__(
        self, name: str, hint: str, action: str, *, takes_paths: bool, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._takes_paths = takes_paths
        self.edit = QLineEdit()
        self.edit.setAcceptDrops(False)  # the window takes them
        self.edit.setAccessibleName(name)
        self.edit.setPlaceholderText(hint)
        self.submit_button = QPushButton(action)
        self.file_button = QPushButton(self.tr("File…"))
        self.folder_button = QPushButton(self.tr("Folder…"))
        self.file_button.setAccessibleDescription(self.tr("Choose a file"))
        self.folder_button.setAccessibleDescription(self.tr("Choose a folder"))
        self._build()

    def show_source(self, source: str) -> None:
        """What is being worked on, wherever it came from."""
        self.edit.setText(source)

    def _on_submitted(self) -> None:
        if text := self.edit.text().strip().strip('"'):  # as "Copy as path" gives it
            self.submitted.emit(text)

    def _on_text_changed(self, text: str) -> None:
        self.submit_button.setEnabled(bool(text.strip()))

    def _build(self) -> None:
        set_role(self.submit_button, "kind", "primary")
        self.submit_button.setEnabled(False)
        self.edit.textChanged.connect(self._on_text_changed)
        self.edit.returnPressed.connect(self._on_submitted)
        self.submit_button.clicked.connect(self._on_submitted)
        self.file_button.clicked.connect(self.file_requested)
        self.folder_button.clicked.connect(self.folder_requested)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(10)
        row.addWidget(self.edit, 1)
        row.addWidget(self.submit_button)
        for button in (self.file_button, self.folder_button):
            row.addWidget(button)
            button.setVisible(self._takes_paths)
