"""A rounded surface with an optional title."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QLabel, QLayout, QSizePolicy, QVBoxLayout, QWidget

from app.ui.theme import set_role, ui_font


class Card(QFrame):
    """Fill `rows`."""

    def __init__(self, title: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_role(self, "card", "true")
        self.rows = QVBoxLayout(self)
        self.rows.setContentsMargins(20, 16, 20, 18)
        self.rows.setSpacing(12)
        if title:
            label = QLabel(title)
            label.setFont(ui_font(1.1, bold=True))
            self.rows.addWidget(label)


def create_chip(text: str = "") -> QLabel:
    """A small pill of muted text."""
    chip = QLabel(text)
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
