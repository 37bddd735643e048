"""One cell per file of the checkpoint that is being written: done, in work, to come."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.ui.accessible import Role, as_role
from app.ui.theme import current_tokens

_GAP = 3.0
_HEIGHT = 14


class StepStrip(QWidget):
    """Layers as cells; `set_progress` is cheap enough for every tensor."""

    told_as = as_role(Role.Graphic)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._num_done = self._num_steps = 0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Progress per layer"))

    def sizeHint(self) -> QSize:
        return QSize(200, _HEIGHT)

    def set_progress(self, num_done: int, num_steps: int) -> None:
        """`num_done` cells are full; the next one is in work."""
        if (num_done, num_steps) == (self._num_done, self._num_steps):
            return
        self._num_done, self._num_steps = num_done, num_steps
        text = self.tr("{done} of {total} parts written")
        self.setAccessibleDescription(text.format(done=num_done, total=num_steps))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._num_steps:
            return
        tokens = current_tokens()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        gap = _GAP if self._num_steps < 100 else 1.0
        width = (self.width() - gap * (self._num_steps - 1)) / self._num_steps
        radius = min(3.0, width / 2)
        for step in range(self._num_steps):
            painter.setBrush(
                QColor(self._colour_of(step, tokens.accent, tokens.accent_soft, tokens.border))
            )
            painter.drawRoundedRect(
                QRectF(step * (width + gap), 0, width, self.height()), radius, radius
            )

    def _colour_of(self, step: int, done: str, current: str, waiting: str) -> str:
        if step < self._num_done:
            return done
        return current if step == self._num_done else waiting
