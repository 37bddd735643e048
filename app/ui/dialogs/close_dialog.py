"""Asks before a conversion is interrupted by closing the window."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.ui.theme import set_role, ui_font


class CloseDialog(QDialog):
    """Accepted: stop and close. Deletes itself when closed; going on is the default."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("A conversion is running"))
        self.setMinimumWidth(460)
        title = QLabel(self.tr("{name} is being converted").format(name=name))
        title.setFont(ui_font(1.15, bold=True))
        title.setWordWrap(True)
        title.setTextFormat(Qt.TextFormat.PlainText)
        text = QLabel(
            self.tr(
                "If you close the window now, the conversion stops. What is done stays on the "
                "disk: drop the same file again to go on from there."
            )
        )
        text.setWordWrap(True)
        set_role(text, "tone", "muted")
        self.keep_button = QPushButton(self.tr("Keep converting"))
        self.stop_button = QPushButton(self.tr("Stop converting and close"))
        self.keep_button.setDefault(True)
        set_role(self.keep_button, "kind", "primary")
        self.keep_button.clicked.connect(self.reject)
        self.stop_button.clicked.connect(self.accept)
        buttons = QHBoxLayout()
        buttons.setSpacing(10)
        buttons.addStretch()
        buttons.addWidget(self.stop_button)
        buttons.addWidget(self.keep_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(24, 22, 24, 20)
        layout.setSpacing(14)
        for widget in (title, text):
            layout.addWidget(widget)
        layout.addLayout(buttons)
