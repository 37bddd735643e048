"""Widgets in lines, as words are: what does not fit goes to the next line."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget


class FlowLayout(QLayout):
    """Left to right, `spacing` pixels apart in both directions; hidden widgets take no room."""

    def __init__(self, spacing: int = 8, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self.setSpacing(spacing)
        self.setContentsMargins(0, 0, 0, 0)

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._arrange(QRect(0, 0, width, 0), is_trial=True)

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._arrange(rect, is_trial=False)

    def sizeHint(self) -> QSize:
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        size = QSize()
        for item in self._items:
            size = size.expandedTo(item.minimumSize())
        return size

    def _arrange(self, rect: QRect, *, is_trial: bool) -> int:
        """Places the items unless it is a trial; returns the height that they take."""
        place, line_height = rect.topLeft(), 0
        for item in self._items:
            if item.isEmpty():
                continue
            size = item.sizeHint()
            if line_height and place.x() + size.width() > rect.right() + 1:
                place = QPoint(rect.left(), place.y() + line_height + self.spacing())
                line_height = 0
            if not is_trial:
                item.setGeometry(QRect(place, size))
            place += QPoint(size.width() + self.spacing(), 0)
            line_height = max(line_height, size.height())
        return place.y() + line_height - rect.top()
