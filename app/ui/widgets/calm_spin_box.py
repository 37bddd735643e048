"""A number field that leaves the wheel to the page: scrolling past must not change a value."""

from __future__ import annotations

from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QDoubleSpinBox


class CalmSpinBox(QDoubleSpinBox):
    """Takes keys and typing only."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def textFromValue(self, value: float) -> str:
        """With the word for the least value, which a screen reader gets from here only."""
        has_word = value == self.minimum() and self.specialValueText()
        return self.specialValueText() if has_word else super().textFromValue(value)
