"""An address to be copied."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.ui.theme import mono_font, set_role, ui_font
from app.ui.widgets.copy_button import CopyButton


class AddressRow(QFrame):
    """Hidden while there is none."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name = name
        set_role(self, "card", "sunken")
        label = QLabel(name)
        label.setFont(ui_font(0.84))
        set_role(label, "tone", "muted")
        self.address = QLabel()
        self.address.setFont(mono_font(1.05))
        self.address.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        copy = self.tr("Copy: {name}").format(name=name)
        self.copy_button = CopyButton(lambda: self.address.text(), copy)
        words = QVBoxLayout()
        words.setSpacing(1)
        words.addWidget(label)
        words.addWidget(self.address)
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 9, 10, 9)
        row.addLayout(words, 1)
        row.addWidget(self.copy_button)
        self.hide()

    def show_address(self, address: str) -> None:
        """'' hides it."""
        self.address.setText(address)
        self.address.setAccessibleName(f"{self._name}: {address}")
        self.setVisible(bool(address))
