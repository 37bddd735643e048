"""How far the conversion is: overall, per layer, speed, time left, and a way out."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QPushButton, QWidget

from app.core.events import ConversionProgressed
from app.ui.formats import estimate_remaining_s, format_duration, format_rate
from app.ui.theme import set_role, ui_font
from app.ui.widgets.card import Card
from app.ui.widgets.step_strip import StepStrip

_BAR_STEPS = 1000  # bytes do not fit into the bar's 32-bit integers


class ProgressCard(Card):
    """Signals:
    cancel_requested
    """

    cancel_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._title = QLabel()
        self._title.setFont(ui_font(1.1, bold=True))
        self._facts = QLabel()
        set_role(self._facts, "tone", "muted")
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName(self.tr("Overall progress"))
        self.strip = StepStrip()
        self.cancel_button = QPushButton(self.tr("Cancel"))
        self.cancel_button.clicked.connect(self.cancel_requested)
        head = QHBoxLayout()
        head.addWidget(self._title)
        head.addSpacing(12)
        head.addWidget(self._facts, 1)
        head.addWidget(self.cancel_button)
        self.rows.addLayout(head)
        self.rows.addWidget(self._bar)
        self.rows.addWidget(self.strip)

    def show_planning(self) -> None:
        """The source is being read."""
        self._title.setText(self.tr("Reading the source…"))
        self._facts.clear()
        self._bar.setRange(0, 0)
        self.strip.set_progress(0, 0)
        self.cancel_button.setEnabled(True)

    def show_starting(self, num_layers: int) -> None:
        """The plan stands; the first byte is about to be written."""
        self._title.setText(self.tr("Converting…"))
        self._bar.setRange(0, _BAR_STEPS)
        self._bar.setValue(0)
        self.strip.set_progress(0, num_layers)

    def show_progress(self, progress: ConversionProgressed) -> None:
        """One more tensor is done."""
        fraction = progress.done_bytes / progress.total_bytes if progress.total_bytes else 0.0
        self._bar.setRange(0, _BAR_STEPS)
        self._bar.setValue(round(fraction * _BAR_STEPS))
        self.strip.set_progress(progress.num_steps_done, progress.num_steps)
        title = self.tr("Converting… {percent} %")
        self._title.setText(title.format(percent=int(fraction * 100)))
        self._facts.setText(self._describe(progress))

    def show_cancelling(self) -> None:
        """Cancel was asked for; the worker cleans up."""
        self._title.setText(self.tr("Cancelling…"))
        self.cancel_button.setEnabled(False)

    def _describe(self, progress: ConversionProgressed) -> str:
        facts = [progress.step]
        if progress.elapsed_s > 0:
            facts.append(format_rate(progress.done_bytes / progress.elapsed_s))
        left = estimate_remaining_s(progress.done_bytes, progress.total_bytes, progress.elapsed_s)
        if left is not None:
            facts.append(self.tr("{time} left").format(time=format_duration(left)))
        return "  ·  ".join(facts)
