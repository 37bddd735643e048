"""A progress bar: a line without text on it."""

from __future__ import annotations

from PySide6.QtWidgets import QProgressBar, QWidget


class ProgressBar(QProgressBar):
    """`name`: what is going on, for screen readers, which tell the share by themselves."""

    def __init__(self, name: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setTextVisible(False)
