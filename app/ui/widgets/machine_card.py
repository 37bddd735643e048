"""This computer in four lines, and which models will run well on it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QVBoxLayout, QWidget

from app.core.machine_events import MachineDescribed
from app.ui.machine_labels import advice, fact_names, facts
from app.ui.theme import set_role, ui_font


class MachineCard(QFrame):
    """Shows what it is told; asks when it is seen and knows nothing.

    Signals:
        look_requested: answer with `show_report`, or with `show_nothing`.
    """

    look_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_role(self, "card", "sunken")
        self._has_report = False
        self._title = QLabel(self.tr("This computer"))
        self._title.setFont(ui_font(1.0, bold=True))
        self.advice = QLabel()
        self._grid = QGridLayout()
        self._values: list[QLabel] = []
        self._build()

    def show_report(self, report: MachineDescribed) -> None:
        """It is known by now."""
        self._has_report = True
        for (name, value), label in zip(facts(report), self._values, strict=True):
            label.setText(value)
            label.setAccessibleName(f"{name}: {value}")
        self.advice.setText(advice(report))

    def show_nothing(self) -> None:
        """It cannot be told."""
        self.advice.setText(self.tr("What this computer has could not be found out."))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self._has_report:
            self.look_requested.emit()

    def _build(self) -> None:
        self.advice.setWordWrap(True)
        self.advice.setTextFormat(Qt.TextFormat.PlainText)
        self.advice.setText(self.tr("Looking at this computer…"))
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(6)
        self._grid.setColumnStretch(1, 1)
        for row, name in enumerate(fact_names()):
            label, value = QLabel(name), QLabel("…")
            value.setWordWrap(True)
            value.setTextFormat(Qt.TextFormat.PlainText)
            self._values.append(value)
            for column, widget in enumerate((label, value)):
                widget.setFont(ui_font(0.92))
                self._grid.addWidget(widget, row, column, Qt.AlignmentFlag.AlignTop)
            set_role(label, "tone", "muted")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 14, 18, 16)
        layout.setSpacing(8)
        layout.addWidget(self._title)
        layout.addWidget(self.advice)
        layout.addLayout(self._grid)
