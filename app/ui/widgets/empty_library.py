"""Nothing is on this disk yet: where models come from."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.ui.icons import IconLabel
from app.ui.theme import set_role, ui_font


class EmptyLibrary(QWidget):
    """Signals:
    download_requested, starter_requested, pick_requested, folder_requested
    """

    download_requested = Signal()
    starter_requested = Signal()
    pick_requested = Signal()
    folder_requested = Signal()

    def __init__(self, *, has_starter: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.download_button = QPushButton(self.tr("Download a model"))
        self.starter_button = QPushButton(self.tr("Open the starter model"))
        self.pick_button = QPushButton(self.tr("Choose a file…"))
        self.folder_button = QPushButton(self.tr("List a folder of mine…"))
        self.starter_button.setVisible(has_starter)
        set_role(self.download_button, "kind", "primary")
        self.download_button.clicked.connect(self.download_requested)
        self.starter_button.clicked.connect(self.starter_requested)
        self.pick_button.clicked.connect(self.pick_requested)
        self.folder_button.clicked.connect(self.folder_requested)
        self._build()

    def _build(self) -> None:
        title = QLabel(self.tr("No model on this disk yet"))
        title.setFont(ui_font(1.6, bold=True))
        text = QLabel(
            self.tr(
                "Converted models, what can be converted, and downloads that have not arrived show "
                "up here, also those that other programs left in the Hugging Face cache."
            )
        )
        text.setFont(ui_font(1.05))
        text.setWordWrap(True)
        text.setMaximumWidth(480)
        set_role(text, "tone", "muted")
        for label in (title, text):
            label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        buttons = QHBoxLayout()
        buttons.setSpacing(10)
        buttons.addStretch()
        for button in (self.download_button, self.starter_button, self.pick_button):
            buttons.addWidget(button)
        set_role(self.folder_button, "kind", "link")
        buttons.addStretch()
        layout = QVBoxLayout(self)
        layout.setSpacing(14)
        layout.addStretch(2)
        layout.addWidget(
            IconLabel("library", size=52, tone="accent"), alignment=Qt.AlignmentFlag.AlignHCenter
        )
        layout.addWidget(title)
        centred = QHBoxLayout()
        centred.addStretch(1)
        centred.addWidget(text, 1000)
        centred.addStretch(1)
        layout.addLayout(centred)
        layout.addLayout(buttons)
        layout.addWidget(self.folder_button, alignment=Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(3)
