"""A rounded surface with an optional title."""

from __future__ import annotations

from functools import cache

from PySide6.QtCore import QSize
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QFrame, QLabel, QLayout, QSizePolicy, QVBoxLayout, QWidget

from app.ui.accessible import Role, as_role
from app.ui.theme import set_role, ui_font


class Card(QFrame):
    """Fill `rows`."""

    told_as = as_role(Role.Grouping)

    def __init__(self, title: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_role(self, "card", "true")
        self.rows = QVBoxLayout(self)
        self.rows.setContentsMargins(20, 16, 20, 18)
        self.rows.setSpacing(12)
        if title:
            self.setAccessibleName(title)
            label = QLabel(title)
            label.setFont(ui_font(1.1, bold=True))
            self.rows.addWidget(label)


class Chip(QLabel):
    """A small pill of muted text, as high as one with Chinese in it."""

    def sizeHint(self) -> QSize:
        return super().sizeHint().expandedTo(QSize(0, _chip_height(self.font().toString())))


@cache
def _chip_height(font: str) -> int:
    """Lines with letters of another face are higher: such chips would not stand in one line."""
    sample, own = QLabel("中A"), QFont()
    own.fromString(font)
    sample.setFont(own)
    set_role(sample, "chip", True)
    return sample.sizeHint().height()


def create_chip(text: str = "") -> QLabel:
    """A chip with a text."""
    chip = Chip(text)
    chip.setFont(ui_font(0.88))
    set_role(chip, "chip", True)
    chip.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
    return chip


def clear_layout(layout: QLayout) -> None:
    """Takes all widgets out of a layout."""
    while (item := layout.takeAt(0)) is not None:
        if widget := item.widget():
            widget.hide()
            widget.deleteLater()
