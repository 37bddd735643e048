"""Relative error part by part, as bars in the order of the model: where it is lost."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.core.conversion_events import PartReport
from app.ui.accessible import Role, as_role
from app.ui.formats import format_error
from app.ui.theme import current_tokens, ui_font

_HEIGHT, _LABEL_HEIGHT, _GAP = 132, 20, 3.0


class ErrorChart(QWidget):
    """A pale bar for the largest error of each part, a strong one for the mean."""

    told_as = as_role(Role.Chart)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._parts: tuple[PartReport, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Relative error of each part"))
        self.setFont(ui_font(0.86))

    def sizeHint(self) -> QSize:
        return QSize(300, _HEIGHT)

    def set_parts(self, parts: Sequence[PartReport]) -> None:
        """Shows other parts."""
        self._parts = tuple(parts)
        worst = max(parts, key=lambda part: part.rel_err_max)
        text = self.tr("Largest in {part}: {error}")
        self.setAccessibleDescription(
            text.format(part=worst.part, error=format_error(worst.rel_err_max))
        )
        self.update()

    def describe_at(self, x: float) -> str:
        """What stands at a place, for the tool tip."""
        if not self._parts:
            return ""
        position = int(x / self.width() * len(self._parts))
        part = self._parts[max(0, min(position, len(self._parts) - 1))]
        text = self.tr("{part}: mean {mean}, largest {largest}")
        mean, largest = format_error(part.rel_err_mean), format_error(part.rel_err_max)
        return text.format(part=part.part, mean=mean, largest=largest)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self.describe_at(event.pos().x()), self)
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        top = max((part.rel_err_max for part in self._parts), default=0.0)
        if top <= 0:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_scale(painter, top)
        painter.setPen(Qt.PenStyle.NoPen)
        tokens = current_tokens()
        for position, part in enumerate(self._parts):
            is_worst = part.rel_err_max == top
            strong = QColor(tokens.warning if is_worst else tokens.accent)
            pale = QColor(strong)
            pale.setAlphaF(0.35)
            self._paint_bar(painter, position, part.rel_err_max / top, pale)
            self._paint_bar(painter, position, part.rel_err_mean / top, strong)

    def _paint_scale(self, painter: QPainter, top: float) -> None:
        tokens = current_tokens()
        floor = self.height() - _LABEL_HEIGHT
        painter.setPen(QColor(tokens.border))
        for level in (_LABEL_HEIGHT, (_LABEL_HEIGHT + floor) / 2, floor):
            painter.drawLine(QPointF(0, level), QPointF(self.width(), level))
        painter.setPen(QColor(tokens.muted))
        left, right = Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight
        head = QRectF(0, 0, self.width(), _LABEL_HEIGHT - 3)
        foot = QRectF(0, floor + 3, self.width(), _LABEL_HEIGHT - 3)
        painter.drawText(head, left, format_error(top))
        painter.drawText(foot, left, self._parts[0].part)
        painter.drawText(foot, right, self._parts[-1].part)

    def _paint_bar(self, painter: QPainter, position: int, share: float, colour: QColor) -> None:
        slot = self.width() / len(self._parts)
        gap = _GAP if slot > 3 * _GAP else 0.0
        room = self.height() - 2 * _LABEL_HEIGHT
        height = share * room
        bar = QRectF(position * slot + gap / 2, _LABEL_HEIGHT + room - height, slot - gap, height)
        painter.setBrush(colour)
        radius = min(2.0, height / 2)
        painter.drawRoundedRect(bar, radius, radius)
