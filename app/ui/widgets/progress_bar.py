"""A progress bar: a line without text on it."""

from __future__ import annotations

from PySide6.QtWidgets import QProgressBar, QWidget

_STEPS = 1000  # a bar counts in 32 bits, bytes do not fit


class ProgressBar(QProgressBar):
    """`name`: what is going on, for screen readers, which tell the share by themselves."""

    def __init__(self, name: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setTextVisible(False)

    def show_share(self, done: float, total: float = 1.0) -> None:
        """So much of it; nothing of nothing."""
        self.setRange(0, _STEPS)
        self.setValue(min(_STEPS, int(done * _STEPS / total)) if total > 0 else 0)
