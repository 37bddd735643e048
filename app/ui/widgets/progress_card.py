"""How far the conversion is: overall, per layer, speed, time left, and two ways out."""

from __future__ import annotations

from PySide6.QtCore import QElapsedTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from app.core.conversion_events import (
    ConversionProgressed,
    EvaluationProgressed,
    MeasuringProgressed,
)
from app.ui.formats import estimate_remaining_s, format_count, format_duration, format_rate
from app.ui.grid_labels import grid_label
from app.ui.sentences import shown
from app.ui.theme import set_role, ui_font
from app.ui.widgets.card import Card
from app.ui.widgets.progress_bar import ProgressBar
from app.ui.widgets.step_strip import StepStrip

_SEPARATOR = "  ·  "


class ProgressCard(Card):
    """Signals:
    cancel_requested: nothing shall be left.
    pause_requested: what is done shall be kept.
    """

    cancel_requested = Signal()
    pause_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._evaluated_grid = ""
        self._evaluation_timer = QElapsedTimer()
        self._title = QLabel()
        self._title.setFont(ui_font(1.1, bold=True))
        self._facts = QLabel()
        set_role(self._facts, "tone", "muted")
        self._bar = ProgressBar(self.tr("Overall progress"))
        self.strip = StepStrip()
        self.pause_button = QPushButton(self.tr("Pause"))
        self.pause_button.setToolTip(self.tr("Stops now; what is done is kept to be resumed"))
        self.pause_button.clicked.connect(self.pause_requested)
        self.cancel_button = QPushButton(self.tr("Cancel"))
        self.cancel_button.clicked.connect(self.cancel_requested)
        head = QHBoxLayout()
        head.setSpacing(10)
        head.addWidget(self._title, 1)
        head.addWidget(self.pause_button)
        head.addWidget(self.cancel_button)
        self.rows.addLayout(head)
        self.rows.addWidget(self._facts)
        self.rows.addWidget(self._bar)
        self.rows.addWidget(self.strip)

    def show_planning(self) -> None:
        """The source is being read."""
        self._begin(self.tr("Reading the source…"), can_pause=False)
        self._bar.setRange(0, 0)

    def show_opening(self) -> None:
        """The user said go; the source is being opened."""
        self._begin(self.tr("Converting…"), can_pause=True)
        self._bar.setRange(0, 0)

    def show_starting(self, num_layers: int) -> None:
        """The plan stands; the first byte is about to be written."""
        self._begin(self.tr("Converting…"), can_pause=True)
        self.strip.set_progress(0, num_layers)
        self.strip.show()

    def show_evaluating(self) -> None:
        """A finished checkpoint is about to be measured."""
        self._begin(self.tr("Measuring…"), can_pause=False)
        self._bar.setRange(0, 0)

    def show_measuring(self, progress: MeasuringProgressed) -> None:
        """What 3 bits would cost is being measured."""
        done, total = progress.num_done, progress.num_linears
        self._show_share(self.tr("Measuring what 3 bits cost… {percent} %"), done / total)
        facts = self.tr("{done} of {total} weight matrices")
        self._facts.setText(facts.format(done=format_count(done), total=format_count(total)))

    def show_progress(self, progress: ConversionProgressed) -> None:
        """One more tensor is done."""
        fraction = progress.done_bytes / progress.total_bytes if progress.total_bytes else 0.0
        title = self.tr("Converting… {percent} %")
        if progress.compared_grid:
            title = self.tr("Converting to compare: {grid}… {percent} %")
        self._show_share(title, fraction, grid_label(progress.compared_grid))
        self.strip.set_progress(progress.num_steps_done, progress.num_steps)
        self.strip.show()
        self._facts.setText(self._describe(progress))

    def show_evaluation(self, progress: EvaluationProgressed) -> None:
        """So many tokens of the text are predicted."""
        done, total = progress.num_done, progress.num_tokens
        if progress.grid != self._evaluated_grid:
            self._evaluated_grid = progress.grid
            self._evaluation_timer.start()
        title = self.tr("Measuring the quality: {grid}… {percent} %")
        self._show_share(title, done / total, grid_label(progress.grid))
        self.strip.hide()
        text = self.tr("{done} of {total} tokens of the bundled text")
        facts = [text.format(done=format_count(done), total=format_count(total))]
        left = estimate_remaining_s(done, total, self._evaluation_timer.elapsed() / 1000)
        self._facts.setText(_SEPARATOR.join([*facts, *self._describe_left(left)]))

    def show_cancelling(self) -> None:
        """A way out was taken; the worker cleans up."""
        self._title.setText(self.tr("Stopping…"))
        self.cancel_button.setEnabled(False)
        self.pause_button.setEnabled(False)

    def _begin(self, title: str, *, can_pause: bool) -> None:
        self._evaluated_grid = ""
        self._title.setText(title)
        self._facts.setText(" ")  # keeps the line's height
        self._bar.show_share(0)
        self.strip.set_progress(0, 0)
        self.strip.hide()
        self.cancel_button.setEnabled(True)
        self.pause_button.setEnabled(True)
        self.pause_button.setVisible(can_pause)

    def _show_share(self, title: str, fraction: float, grid: str = "") -> None:
        self._bar.show_share(fraction)
        self._title.setText(title.format(percent=int(fraction * 100), grid=grid))

    def _describe(self, progress: ConversionProgressed) -> str:
        facts = [shown(progress.step)]
        if progress.tensor and not progress.tensor.startswith(progress.step):
            facts = [shown(progress.step), progress.tensor.split(".", 2)[-1]]
        if progress.eta_s:
            left_bytes = progress.total_bytes - progress.done_bytes
            facts.append(format_rate(left_bytes / progress.eta_s))
        return _SEPARATOR.join([*facts, *self._describe_left(progress.eta_s)])

    def _describe_left(self, left_s: float | None) -> list[str]:
        if left_s is None:
            return []
        return [self.tr("{time} left").format(time=format_duration(left_s))]
