"""What the pages that begin at one of their controls have in common."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QWidget


class Page(QWidget):
    """Hands the focus to `first`; as a focus proxy that would hide from Tab what is before it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.first: QWidget | None = None

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if self.first is not None:
            self.first.setFocus(event.reason())
