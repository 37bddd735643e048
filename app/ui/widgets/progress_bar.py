"""A progress bar that tells a screen reader percent, whatever its steps are."""

from __future__ import annotations

from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QProgressBar, QWidget

from app.ui.accessible import NumberInterface, Role, Text


class _Interface(NumberInterface):
    """In percent; without a value while no end is in sight."""

    def __init__(self, bar: QWidget) -> None:
        super().__init__(bar, Role.ProgressBar)

    @property
    def _bar(self) -> ProgressBar:
        bar = self.object()
        assert isinstance(bar, ProgressBar)
        return bar

    def text(self, kind: QAccessible.Text) -> str:
        if kind is Text.Value:
            return "" if self._bar.is_endless else f"{self._bar.percent} %"
        return super().text(kind)

    def state(self) -> QAccessible.State:
        state = super().state()
        state.readOnly = True
        state.busy = self._bar.is_endless
        return state

    def currentValue(self) -> int:
        return self._bar.percent

    def minimumValue(self) -> int:
        return 0

    def maximumValue(self) -> int:
        return 100

    def minimumStepSize(self) -> int:
        return 1

    def setCurrentValue(self, _value: object) -> None:
        """Nobody sets it."""


class ProgressBar(QProgressBar):
    """Without text on it."""

    told_as = _Interface

    def __init__(self, name: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setTextVisible(False)

    @property
    def is_endless(self) -> bool:
        """Whether it only shows that something runs."""
        return self.maximum() == self.minimum()

    @property
    def percent(self) -> int:
        """Of its range, rounded down."""
        span = self.maximum() - self.minimum()
        return 100 * max(0, self.value() - self.minimum()) // span if span else 0
