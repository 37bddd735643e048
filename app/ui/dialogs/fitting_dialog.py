"""A dialog that is never higher than its screen: what does not fit scrolls, its buttons stay."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRect, Qt, QTimer
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QDialog, QFrame, QLayout, QScrollArea, QVBoxLayout, QWidget

_TITLE_BAR_PX = 40
_SIDE, _TOP, _BOTTOM = 24, 22, 20
_LEAST_PX = 60  # of what scrolls


class FittingDialog(QDialog):
    """Fill `rows`, then `close_rows`. Grows where they grow. Deletes itself when closed."""

    def __init__(self, width: int, parent: QWidget | None = None) -> None:
        """`width`: pixels, where the screen has them."""
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._width = width
        self._content = QWidget()
        self.rows = QVBoxLayout(self._content)
        self.rows.setContentsMargins(_SIDE, _TOP, _SIDE, 0)
        self.area = QScrollArea()
        self._outer = QVBoxLayout(self)

    def close_rows(self, buttons: QLayout) -> None:
        """What stands below the rows, wherever these are scrolled to."""
        self._content.installEventFilter(self)
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.setWidgetResizable(True)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.area.setMinimumHeight(_LEAST_PX)
        self.area.setWidget(self._content)
        self._outer.setContentsMargins(0, 0, 0, _BOTTOM)
        self._outer.setSpacing(self.rows.spacing())
        self._outer.addWidget(self.area, 1)
        buttons.setContentsMargins(_SIDE, 0, _SIDE, 0)
        self._outer.addLayout(buttons)
        self.setMinimumWidth(min(self._width, self.room().width()))
        self.fit()

    def room(self) -> QRect:
        """What the screen leaves for a window."""
        return self.screen().availableGeometry().adjusted(0, _TITLE_BAR_PX, 0, 0)

    def fit(self) -> None:
        """As high as its content, so far as the screen is."""
        width = max(self.width(), self.minimumWidth())
        needed = self.rows.totalHeightForWidth(width)
        if needed < 0:  # no text among them wraps
            needed = self.rows.totalSizeHint().height()
        others = self._outer.totalSizeHint().height() - self.area.sizeHint().height()
        self.resize(width, min(needed + others, self.room().height()))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.fit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._content and event.type() == QEvent.Type.LayoutRequest:
            QTimer.singleShot(0, self, self.fit)
        return super().eventFilter(watched, event)
