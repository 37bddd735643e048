"""A page that has nothing to show yet: an icon, a headline, a sentence, and what to do first."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.ui.icons import IconLabel
from app.ui.theme import set_role, ui_font
from app.ui.widgets.flow_layout import FlowLayout

_TEXT_WIDTH = 520


class EmptyState(QWidget):
    """All of it is in the middle; `add_buttons` closes it."""

    def __init__(self, icon: str, title: str, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title, self.text = QLabel(title), QLabel(text)
        self.title.setFont(ui_font(1.6, bold=True))
        self.text.setFont(ui_font(1.05))
        set_role(self.text, "tone", "muted")
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(24, 24, 24, 24)
        self._layout.setSpacing(12)
        self._layout.addStretch(2)
        self._layout.addWidget(
            IconLabel(icon, size=52, tone="accent"), alignment=Qt.AlignmentFlag.AlignHCenter
        )
        for label in (self.title, self.text):
            self._layout.addLayout(_centre(label))
        self._layout.addSpacing(6)

    def add_buttons(self, buttons: Sequence[QPushButton], below: QPushButton | None = None) -> None:
        """One row of them, where that is wide enough, and under it `below`, as a link. Call it
        once, last."""
        row = FlowLayout(10, side=Qt.AlignmentFlag.AlignHCenter)
        for button in buttons:
            row.addWidget(button)
        self._layout.addLayout(row)
        if below is not None:
            set_role(below, "kind", "link")
            self._layout.addWidget(below, alignment=Qt.AlignmentFlag.AlignHCenter)
        self._layout.addStretch(3)


def _centre(label: QLabel) -> QHBoxLayout:
    """As wide as lines are easy to read: a label with a greatest width alone gets the height that
    its text has in all the room there is.
    """
    label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
    label.setWordWrap(True)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setMaximumWidth(_TEXT_WIDTH)
    row = QHBoxLayout()
    row.addStretch(1)
    row.addWidget(label, 1000)
    row.addStretch(1)
    return row
