"""A labelled number with a slider and an exact field that always agree."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import (
    QDoubleSpinBox,
    QGridLayout,
    QLabel,
    QSlider,
    QWidget,
)


class _CalmSlider(QSlider):
    """Leaves the wheel to the panel: scrolling past must not change a value."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


class _CalmSpinBox(QDoubleSpinBox):
    """Leaves the wheel to the panel."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


class SliderField(QWidget):
    """Signals:
    value_changed(float): by the user.
    """

    value_changed = Signal(float)

    def __init__(
        self,
        label: str,
        help_text: str,
        *,
        least: float,
        most: float,
        step: float,
        special_text: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._step, self._least = step, least
        self._slider = _CalmSlider(Qt.Orientation.Horizontal)
        self._field = _CalmSpinBox()
        self._slider.setRange(0, round((most - least) / step))
        self._setup_field(most, special_text)
        self._build(label, help_text)
        self._slider.valueChanged.connect(self._on_slider_changed)
        self._field.valueChanged.connect(self._on_field_changed)

    @property
    def value(self) -> float:
        """The number shown."""
        return self._field.value()

    def set_value(self, value: float) -> None:
        """Shows a number without telling anyone."""
        for widget in (self._field, self._slider):
            widget.blockSignals(True)
        self._field.setValue(value)
        self._slider.setValue(self._to_position(value))
        for widget in (self._field, self._slider):
            widget.blockSignals(False)

    def _to_position(self, value: float) -> int:
        return round((value - self._least) / self._step)

    def _on_slider_changed(self, position: int) -> None:
        self._field.setValue(self._least + position * self._step)

    def _on_field_changed(self, value: float) -> None:
        self._slider.blockSignals(True)
        self._slider.setValue(self._to_position(value))
        self._slider.blockSignals(False)
        self.value_changed.emit(value)

    def _setup_field(self, most: float, special_text: str) -> None:
        self._field.setRange(self._least, most)
        self._field.setSingleStep(self._step)
        self._field.setDecimals(0 if self._step >= 1 else 2)
        self._field.setAlignment(Qt.AlignmentFlag.AlignRight)
        self._field.setFixedWidth(74)
        self._field.setSpecialValueText(special_text)

    def _build(self, label: str, help_text: str) -> None:
        text = QLabel(label)
        text.setBuddy(self._field)
        for widget in (self._slider, self._field):
            widget.setAccessibleName(label)
            widget.setAccessibleDescription(help_text)
        self.setToolTip(help_text)
        layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setVerticalSpacing(3)
        layout.addWidget(text, 0, 0)
        layout.addWidget(self._field, 0, 1)
        layout.addWidget(self._slider, 1, 0, 1, 2)
