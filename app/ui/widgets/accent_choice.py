"""The accents as a row of round swatches."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QRadioButton, QWidget

from app.ui.accents import DARK_SHADES, LIGHT_SHADES, Accent
from app.ui.accessible import Role, as_role
from app.ui.theme import current_tokens

_SIZE = 28
_RING = 2.0
_GAP = 4.0


class AccentChoice(QWidget):
    """Signals:
    value_changed(str): by the user.
    """

    told_as = as_role(Role.Grouping)

    value_changed = Signal(str)

    def __init__(self, choices: Mapping[str, str], parent: QWidget | None = None) -> None:
        """`choices` gives each accent the name that is told."""
        super().__init__(parent)
        self.swatches = {value: _Swatch(Accent(value), name) for value, name in choices.items()}
        group = QButtonGroup(self)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        for swatch in self.swatches.values():
            group.addButton(swatch)
            layout.addWidget(swatch)
        group.buttonClicked.connect(self._on_clicked)
        self.setFocusProxy(next(iter(self.swatches.values())))

    def set_value(self, value: str) -> None:
        """Shows a value without telling anyone."""
        self.swatches[value].setChecked(True)
        self.setFocusProxy(self.swatches[value])

    def _on_clicked(self, swatch: _Swatch) -> None:
        self.value_changed.emit(swatch.accent.value)


class _Swatch(QRadioButton):
    """A disc in the accent, as the theme of now has it; a ring around the chosen one."""

    def __init__(self, accent: Accent, name: str) -> None:
        super().__init__()
        self.accent = accent
        self.setAccessibleName(name)
        self.setToolTip(name)
        self.setFixedSize(_SIZE, _SIZE)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def sizeHint(self) -> QSize:
        return QSize(_SIZE, _SIZE)

    def hitButton(self, _position: object) -> bool:
        return True

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = current_tokens()
        shades = (DARK_SHADES if tokens.is_dark else LIGHT_SHADES)[self.accent]
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        frame = QRectF(self.rect()).adjusted(_RING, _RING, -_RING, -_RING)
        if self.isChecked() or self.hasFocus():
            ring = shades.accent if self.isChecked() else tokens.control_border
            style = Qt.PenStyle.DotLine if self.hasFocus() else Qt.PenStyle.SolidLine
            painter.setPen(QPen(QColor(ring), _RING, style))
            painter.drawEllipse(frame)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(shades.accent))
        painter.drawEllipse(frame.adjusted(_GAP, _GAP, -_GAP, -_GAP))
