"""The body of a page: one centred column of widgets that scrolls."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

_COLUMN_WIDTH = 920


class PageColumn(QScrollArea):
    """Fill `rows`; then `close_rows` keeps them at the top."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        column = QWidget()
        column.setMaximumWidth(_COLUMN_WIDTH)
        self.rows = QVBoxLayout(column)
        self.rows.setContentsMargins(28, 24, 28, 28)
        self.rows.setSpacing(16)
        content = QWidget()
        self._centred = QHBoxLayout(content)
        self._centred.setContentsMargins(0, 0, 0, 0)
        self._centred.addStretch(1)
        self._centred.addWidget(column, 1000)
        self._centred.addStretch(1)
        self.setWidget(content)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The column begins where it did when a scroll bar comes or goes."""
        super().resizeEvent(event)
        bar_width = self.width() - self.viewport().width()
        beside = max(0, (self.width() - _COLUMN_WIDTH) // 2)
        self._centred.setContentsMargins(min(bar_width, beside), 0, 0, 0)

    def close_rows(self) -> None:
        """All room that is left stays below the last row."""
        self.rows.addStretch(1)

    def take_over(self, old: PageColumn) -> None:
        """Scrolls to where `old` is, as soon as the rows have their heights."""
        value = old.verticalScrollBar().value()
        QTimer.singleShot(0, self, lambda: self.verticalScrollBar().setValue(value))

    def scroll_to_top(self) -> None:
        """Shows the first row."""
        self.verticalScrollBar().setValue(0)
