"""A key: dots until one wants to see it, to be copied or made anew."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QWidget

from app.ui.accessible import Role, as_role
from app.ui.icons import SwapButton
from app.ui.widgets.copy_button import CopyButton


class SecretField(QWidget):
    """Signals:
    edited(str): the user has typed or pasted another key, and left the field.
    """

    told_as = as_role(Role.Grouping)

    edited = Signal(str)

    def __init__(self, label: str, hint: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.edit = QLineEdit()
        self.edit.setAcceptDrops(False)  # the window takes them
        self.edit.setEchoMode(QLineEdit.EchoMode.Password)
        self.edit.setAccessibleName(label)
        self.edit.setPlaceholderText(hint)
        self.show_button = SwapButton("eye", self.tr("Show the key"), size=18)
        self.show_button.setCheckable(True)
        self.copy_button = CopyButton(lambda: self.key, self.tr("Copy the key"))
        self.edit.editingFinished.connect(self._on_editing_finished)
        self.edit.textChanged.connect(self._update)
        self.show_button.toggled.connect(self._on_show_toggled)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        row.addWidget(self.edit, 1)
        row.addWidget(self.show_button)
        row.addWidget(self.copy_button)
        self._update()

    @property
    def key(self) -> str:
        """What stands there, without blanks around it."""
        return self.edit.text().strip()

    def show_key(self, key: str) -> None:
        """Shows a key without telling anyone."""
        if key != self.key:
            self.edit.setText(key)
            self.edit.setModified(False)

    def set_read_only(self, is_read_only: bool) -> None:
        """Whether it can only be looked at and copied."""
        self.edit.setReadOnly(is_read_only)

    def _on_editing_finished(self) -> None:
        if self.edit.isModified():
            self.edit.setModified(False)
            self.edited.emit(self.key)

    def _on_show_toggled(self, is_shown: bool) -> None:
        mode = QLineEdit.EchoMode.Normal if is_shown else QLineEdit.EchoMode.Password
        self.edit.setEchoMode(mode)
        self.show_button.set_label(self.tr("Hide the key") if is_shown else self.tr("Show the key"))

    def _update(self) -> None:
        for button in (self.show_button, self.copy_button):
            button.setEnabled(bool(self.key))
