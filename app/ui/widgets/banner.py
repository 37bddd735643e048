"""A message across the page: what happened, what to do about it, the details for a bug report."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QAccessible, QAccessibleEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.ui.accessible import Role, as_role
from app.ui.dialogs.details_dialog import DetailsDialog
from app.ui.icons import IconButton, IconLabel
from app.ui.problems import Problem
from app.ui.theme import set_role

_MOST_OF_WINDOW = 0.45
_LEFT_FREE_PX = 182  # the chat's composer, and three lines of a conversation
_LEAST_PX = 72  # a title and two lines


class BannerTone(StrEnum):
    """How bad it is; the style sheet selects on the value."""

    INFO = "info"
    WARNING = "warning"
    DANGER = "danger"


# Icon and its colour.
_MARKS = {
    BannerTone.INFO: ("check", "accent"),
    BannerTone.WARNING: ("warning", "warning"),
    BannerTone.DANGER: ("warning", "danger"),
}


class Banner(QFrame):
    """Signals:
    action_requested: the button with `action` on it.
    closed: the user has read it.
    """

    told_as = as_role(Role.AlertMessage)

    action_requested = Signal()
    closed = Signal()

    def __init__(
        self,
        text: str,
        tone: BannerTone = BannerTone.INFO,
        *,
        action: str = "",
        detail: str = "",
        body: QWidget | None = None,
        parent: QWidget | None = None,
    ) -> None:
        """`body` stands where the text would, and has the button for details somewhere."""
        super().__init__(parent)
        set_role(self, "banner", tone.value)
        self._detail = detail
        self.label = QLabel(text)
        self.label.setWordWrap(True)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setAccessibleName(text)
        self.action_button = QPushButton(action)
        self.action_button.setVisible(bool(action))
        self._details_button = QPushButton(self.tr("Details"))
        self._details_button.setVisible(bool(detail))
        self._build(tone, body or self.label)

    @property
    def text(self) -> str:
        """The sentence."""
        return self.label.text()

    def _on_details_clicked(self) -> None:
        DetailsDialog(Problem("", self.text, detail=self._detail), self).open()

    def _on_closed(self) -> None:
        self.hide()
        self.closed.emit()

    def _build(self, tone: BannerTone, body: QWidget) -> None:
        set_role(self._details_button, "kind", "link")
        close = IconButton("close", self.tr("Dismiss"), size=16)
        close.clicked.connect(self._on_closed)
        self.action_button.clicked.connect(self.action_requested)
        self._details_button.clicked.connect(self._on_details_clicked)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(14, 8, 8, 8)
        layout.setSpacing(12)
        icon, icon_tone = _MARKS[tone]
        place = Qt.AlignmentFlag.AlignVCenter if body is self.label else Qt.AlignmentFlag.AlignTop
        layout.addWidget(IconLabel(icon, size=20, tone=icon_tone), 0, place)
        layout.addWidget(body, 1)
        if body is self.label:
            layout.addWidget(self._details_button)
        for widget in (self.action_button, close):
            layout.addWidget(widget, 0, place)


class BannerStack(QScrollArea):
    """The banners of one place, newest last; a message that is already shown is not repeated.

    They take less than half of the window, in a low one less still, and scroll beyond that; the
    newest is shown from its first line on.

    `again` shows a banner once more on the stack that it is given: one built later, which may
    speak another language.
    """

    def __init__(self, parent: QWidget | None = None, *, left_free: int = _LEFT_FREE_PX) -> None:
        """`left_free`: pixels below that they leave in a low window."""
        super().__init__(parent)
        self._left_free = left_free
        self._banners: dict[str, Banner] = {}
        self._again: dict[str, Callable[[Any], object]] = {}
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._content = QWidget()
        self._content.installEventFilter(self)
        self.setWidget(self._content)
        self.verticalScrollBar().rangeChanged.connect(self._show_newest)
        self.rows = QVBoxLayout(self._content)
        self.rows.setContentsMargins(16, 10, 16, 6)
        self.rows.setSpacing(8)
        self.hide()

    @property
    def banners(self) -> tuple[Banner, ...]:
        """What is shown."""
        return tuple(self._banners.values())

    def show_banner(
        self, key: str, banner: Banner, again: Callable[[Any], object] | None = None
    ) -> None:
        """Shows a banner in place of an older one with the same key."""
        self.remove(key)
        if again is not None:
            self._again[key] = again
        self._banners[key] = banner
        banner.closed.connect(lambda: self.remove(key))
        self.rows.addWidget(banner)
        self.show()
        QAccessible.updateAccessibility(QAccessibleEvent(banner, QAccessible.Event.Alert))
        self._fit()
        self._fit_later()
        QTimer.singleShot(0, self, self._show_newest)

    def remove(self, key: str) -> None:
        """Takes a banner away, if it is there."""
        self._again.pop(key, None)
        banner = self._banners.pop(key, None)
        if banner is not None:
            self.rows.removeWidget(banner)
            banner.hide()
            banner.deleteLater()
        self.setVisible(bool(self._banners))
        self._fit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        is_content = watched is self._content and kind == QEvent.Type.LayoutRequest
        if is_content or (watched is self.parent() and kind == QEvent.Type.Resize):
            self._fit_later()
        return super().eventFilter(watched, event)

    def showEvent(self, event: QShowEvent) -> None:
        """From now on the room that what surrounds it has counts."""
        super().showEvent(event)
        if (parent := self.parentWidget()) is not None:
            parent.installEventFilter(self)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_later()

    def _fit_later(self) -> None:
        """When a new banner is there, and not while a layout above is at work: it would not notice
        that this has grown."""
        QTimer.singleShot(0, self, self._fit)

    def _fit(self) -> None:
        needed = self.rows.totalHeightForWidth(self.width())
        if needed < 0:  # no text among them wraps
            needed = self.rows.totalSizeHint().height()
        most = self._most()
        # A bar that is there already narrows the texts, which then need more height, and the bar.
        policy = Qt.ScrollBarPolicy
        self.setVerticalScrollBarPolicy(
            policy.ScrollBarAlwaysOff if needed <= most else policy.ScrollBarAsNeeded
        )
        height = min(needed, most)
        if height != self.height():
            self.setFixedHeight(height)
            if (parent := self.parentWidget()) is not None and (layout := parent.layout()):
                layout.invalidate()
                layout.activate()

    def _most(self) -> int:
        """The height that they may take."""
        height = self.window().height()
        below = height - self.mapTo(self.window(), QPoint()).y()
        return min(round(height * _MOST_OF_WINDOW), max(_LEAST_PX, below - self._left_free))

    def _show_newest(self) -> None:
        if self._banners:
            self.verticalScrollBar().setValue(self.banners[-1].y() - self.rows.spacing())

    def take_over(self, old: BannerStack) -> None:
        """Shows what `old` shows."""
        for show in list(old._again.values()):
            show(self)
