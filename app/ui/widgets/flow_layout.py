"""Widgets in lines, as words are: what does not fit goes to the next line.

Those of a line have their middles at one height.
"""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget

# Of the room that a line leaves, what is before it.
_SHARES = {
    Qt.AlignmentFlag.AlignLeft: 0.0,
    Qt.AlignmentFlag.AlignHCenter: 0.5,
    Qt.AlignmentFlag.AlignRight: 1.0,
}


class FlowLayout(QLayout):
    """Left to right, `spacing` pixels apart in both directions; hidden widgets take no room.

    Lines begin at the left edge, end at the right one or stand in the middle: `side`.
    """

    def __init__(
        self,
        spacing: int = 8,
        parent: QWidget | None = None,
        *,
        side: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft,
    ) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self._share = _SHARES[side]
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
        top = rect.top()
        for line in self._lines(rect.width()):
            height = max(item.sizeHint().height() for item in line)
            left = rect.left() + int(self._share * max(0, rect.width() - self._width_of(line)))
            for item in line:
                size = item.sizeHint()
                if not is_trial:
                    place = QPoint(left, top + (height - size.height()) // 2)
                    item.setGeometry(QRect(place, size))
                left += size.width() + self.spacing()
            top += height + self.spacing()
        return max(0, top - self.spacing() - rect.top())

    def _width_of(self, line: list[QLayoutItem]) -> int:
        return sum(item.sizeHint().width() + self.spacing() for item in line) - self.spacing()

    def _lines(self, width: int) -> list[list[QLayoutItem]]:
        lines: list[list[QLayoutItem]] = []
        room = 0
        for item in self._items:
            if item.isEmpty():
                continue
            needed = item.sizeHint().width()
            if not lines or needed > room:
                lines.append([])
                room = width
            lines[-1].append(item)
            room -= needed + self.spacing()
        return lines
