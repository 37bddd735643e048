"""A switch: on to the right, off to the left; Space and Enter flip it."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.ui.theme import current_tokens

_WIDTH, _HEIGHT, _RING = 40, 22, 3


class Switch(QAbstractButton):
    """Checkable; `set_tone` colours it while it is on or has failed."""

    def __init__(self, label: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tone = "accent"
        self.setCheckable(True)
        self.setAccessibleName(label)
        self.setToolTip(label)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFixedSize(self.sizeHint())

    def set_tone(self, tone: str) -> None:
        """The name of the colour that the track has."""
        self._tone = tone
        self.update()

    def show_checked(self, is_checked: bool) -> None:
        """Flips it without telling anyone."""
        self.blockSignals(True)
        self.setChecked(is_checked)
        self.blockSignals(False)

    def sizeHint(self) -> QSize:
        return QSize(_WIDTH + 2 * _RING, _HEIGHT + 2 * _RING)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = current_tokens()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        track = QRectF(_RING, _RING, _WIDTH, _HEIGHT)
        self._paint_track(painter, track)
        diameter = _HEIGHT - 8
        left = track.right() - 4 - diameter if self.isChecked() else track.left() + 4
        painter.setPen(Qt.PenStyle.NoPen)
        knob = tokens.on_accent if self.isChecked() else tokens.control_border
        painter.setBrush(QColor(knob))
        painter.drawEllipse(QRectF(left, track.top() + 4, diameter, diameter))
        if self.hasFocus():
            painter.setPen(QPen(QColor(tokens.accent), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            ring = track.adjusted(-2, -2, 2, 2)
            painter.drawRoundedRect(ring, ring.height() / 2, ring.height() / 2)

    def _paint_track(self, painter: QPainter, track: QRectF) -> None:
        tokens = current_tokens()
        border = getattr(tokens, self._tone) if self._tone != "accent" else tokens.control_border
        fill = QColor(getattr(tokens, self._tone) if self.isChecked() else tokens.sunken)
        if not self.isEnabled():
            fill = QColor(tokens.hover)
        painter.setBrush(fill)
        painter.setPen(Qt.PenStyle.NoPen if self.isChecked() else QPen(QColor(border), 1.2))
        painter.drawRoundedRect(track, track.height() / 2, track.height() / 2)
