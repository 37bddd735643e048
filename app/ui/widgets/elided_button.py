"""A button whose text ends in … where it is longer than its place; the whole is its tool tip."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QPushButton, QStyle, QStyleOptionButton, QWidget


class ElidedButton(QPushButton):
    """`text()` is what is shown, `whole` what it was made with, and what screen readers say."""

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.whole = text
        self.setAccessibleName(text)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        option = QStyleOptionButton()
        self.initStyleOption(option)
        place = self.style().subElementRect(QStyle.SubElement.SE_PushButtonContents, option, self)
        middle = Qt.TextElideMode.ElideMiddle  # names differ at their ends
        shown = self.fontMetrics().elidedText(self.whole, middle, place.width())
        self.setText(shown)
        self.setToolTip(self.whole if shown != self.whole else "")
