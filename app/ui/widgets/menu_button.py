"""A button with a text and an arrow behind it, whose menu opens below."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from app.ui.icons import IconButton


class MenuButton(IconButton):
    """`name` is what the menu is called; `setText` gives the button its text."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__("chevron_down", name, parent, size=16)
        self.set_kind("picker")
        self.setToolTip("")
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setLayoutDirection(Qt.LayoutDirection.RightToLeft)  # the arrow behind the text
        self.setMenu(QMenu(self))
        self.menu().setAccessibleName(name)
        self.menu().setLayoutDirection(Qt.LayoutDirection.LeftToRight)
