"""A labelled number with a slider and an exact field that always agree."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import (
    QGridLayout,
    QLabel,
    QSlider,
    QWidget,
)

from app.ui.widgets.calm_spin_box import CalmSpinBox


class _CalmSlider(QSlider):
    """Leaves the wheel to the panel: scrolling past must not change a value."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


class SliderField(QWidget):
    """The slider spans the usual values; the field takes more where `field_most` says so.

    Signals:
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
        field_most: float | None = None,
        special_text: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._step, self._least, self._label = step, least, label
        self.spin_box = CalmSpinBox()
        self.slider = _CalmSlider(Qt.Orientation.Horizontal)
        self.slider.setRange(0, round((most - least) / step))
        self._setup_field(most if field_most is None else field_most, special_text)
        self._build(label, help_text)
        self.slider.valueChanged.connect(self._on_slider_changed)
        self.spin_box.valueChanged.connect(self._on_field_changed)

    @property
    def value(self) -> float:
        """The number shown."""
        return self.spin_box.value()

    def set_value(self, value: float) -> None:
        """Shows a number without telling anyone."""
        for widget in (self.spin_box, self.slider):
            widget.blockSignals(True)
        self.spin_box.setValue(value)
        self.slider.setValue(self._to_position(value))
        for widget in (self.spin_box, self.slider):
            widget.blockSignals(False)
        self._tell_value()

    def _tell_value(self) -> None:
        """A slider by itself tells its position, which is not the number."""
        self.slider.setAccessibleName(f"{self._label}: {self.spin_box.text()}")

    def _to_position(self, value: float) -> int:
        return round((value - self._least) / self._step)

    def _on_slider_changed(self, position: int) -> None:
        self.spin_box.setValue(self._least + position * self._step)

    def _on_field_changed(self, value: float) -> None:
        self.slider.blockSignals(True)
        self.slider.setValue(self._to_position(value))
        self.slider.blockSignals(False)
        self._tell_value()
        self.value_changed.emit(value)

    def _setup_field(self, most: float, special_text: str) -> None:
        self.spin_box.setRange(self._least, most)
        self.spin_box.setSingleStep(self._step)
        self.spin_box.setDecimals(0 if self._step >= 1 else 2)
        self.spin_box.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.spin_box.setFixedWidth(74)
        self.spin_box.setSpecialValueText(special_text)
        self.spin_box.lineEdit().setTextMargins(0, 0, 4, 0)

    def _build(self, label: str, help_text: str) -> None:
        text = QLabel(label)
        text.setBuddy(self.spin_box)
        self.spin_box.setAccessibleName(label)
        for widget in (self.slider, self.spin_box):
            widget.setAccessibleDescription(help_text)
        self._tell_value()
        self.setToolTip(help_text)
        layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setVerticalSpacing(3)
        layout.addWidget(text, 0, 0)
        layout.addWidget(self.spin_box, 0, 1)
        layout.addWidget(self.slider, 1, 0, 1, 2)
