"""How to convert: one click for what is recommended, everything else folded away."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.controllers.conversion_job import ConversionOptions
from app.core.conversion_events import ConversionPlan, MeasuringProgressed
from app.core.events import ErrorInfo
from app.core.units import format_bytes
from app.ui.formats import format_count
from app.ui.grid_labels import COMPARED_GRIDS, grid_help, grid_label
from app.ui.sentences import shown
from app.ui.theme import make_large, set_role, ui_font
from app.ui.widgets.card import Card
from app.ui.widgets.collapsible import Collapsible
from app.ui.widgets.flow_layout import FlowLayout
from app.ui.widgets.grid_choice import GridChoice
from app.ui.widgets.progress_bar import ProgressBar


class OptionsCard(Card):
    """Signals:
    plan_requested(ConversionOptions): the user chose another grid, group size or budget.
    convert_requested(ConversionOptions), convert_all_requested(ConversionOptions)
    cancel_requested
    """

    plan_requested = Signal(object)
    convert_requested = Signal(object)
    convert_all_requested = Signal(object)
    cancel_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._title = QLabel()
        self._title.setFont(ui_font(1.3, bold=True))
        self._facts = QLabel()
        self._facts.setWordWrap(True)
        self.problem = QLabel()
        self.problem.setWordWrap(True)
        self._bar = ProgressBar(self.tr("Planning"))
        self.convert_button = QPushButton(self.tr("Convert"))
        self.convert_all_button = QPushButton()
        self.cancel_button = QPushButton(self.tr("Cancel"))
        self.evaluate = QCheckBox(self.tr("Measure the quality afterwards"))
        self.compare = QCheckBox(self.tr("Compare 8, 4 and 3 bits side by side"))
        self.choice = GridChoice()
        self.more = Collapsible(self.tr("Other ways to convert"), self.choice, is_open=False)
        self._build()
        self._connect()

    def show_options(self, options: ConversionOptions) -> None:
        """Those that another source was queued with."""
        self.choice.set_options(options)
        self.compare.setChecked(bool(options.compare))
        self.evaluate.setChecked(options.evaluate)
        self.more.button.setChecked(False)

    def take_over(self, old: OptionsCard) -> None:
        """The same choices."""
        self.choice.set_options(old.choice.options())
        self.evaluate.setChecked(old.evaluate.isChecked())
        self.compare.setChecked(old.compare.isChecked())
        self.more.button.setChecked(old.more.button.isChecked())

    def options(self) -> ConversionOptions:
        """What is chosen, with what is to be measured."""
        chosen = self.choice.options()
        is_compared = self.compare.isChecked()
        others = tuple(g for g in COMPARED_GRIDS if g != chosen.grid) if is_compared else ()
        return replace(chosen, evaluate=self.evaluate.isChecked(), compare=others)

    def set_num_waiting(self, count: int) -> None:
        """How many other sources could be converted the same way."""
        text = self.tr("Convert all {count}").format(count=count + 1)
        self.convert_all_button.setText(text)
        self.convert_all_button.setVisible(count > 0)

    def show_planning(self) -> None:
        """Another plan is being made; nothing can be started meanwhile."""
        self._show_title()
        self._facts.setText(self.tr("Planning…"))
        self._bar.setRange(0, 0)
        self._set_busy(True)

    def show_measuring(self, progress: MeasuringProgressed) -> None:
        """What 3 bits would cost is being measured."""
        text = self.tr("Measuring what 3 bits cost: {done} of {total} weight matrices")
        done, total = format_count(progress.num_done), format_count(progress.num_linears)
        self._facts.setText(text.format(done=done, total=total))
        self._bar.setRange(0, progress.num_linears)
        self._bar.setValue(progress.num_done)

    def show_plan(self, plan: ConversionPlan) -> None:
        """The plan stands."""
        self._show_title(plan.grid)
        text = self.tr("{size} on the disk  ·  about {memory} of memory with {n} tokens of context")
        size, memory = format_bytes(plan.output_bytes), format_bytes(plan.memory_bytes)
        context = format_count(plan.memory_context)
        self._facts.setText(text.format(size=size, memory=memory, n=context))
        self._set_busy(False)

    def show_refused(self, error: ErrorInfo) -> None:
        """These options cannot be planned; the user may choose others."""
        self._facts.clear()
        self._set_busy(False)
        self.problem.setText(shown(error.message))
        self.problem.show()
        self._set_startable(False)

    def _show_title(self, planned_grid: str = "") -> None:
        grid = self.choice.grid
        if grid == "auto" and planned_grid:
            text = self.tr("Recommended: {grid}").format(grid=grid_label(planned_grid))
            self._title.setText(text)
            self._help.setText(grid_help(planned_grid))
        else:
            self._title.setText(grid_label(grid))
            self._help.setText(grid_help(grid))

    def _set_busy(self, is_busy: bool) -> None:
        self._bar.setVisible(is_busy)
        self.problem.hide()
        self._set_startable(not is_busy)

    def _set_startable(self, is_startable: bool) -> None:
        self.convert_button.setEnabled(is_startable)
        self.convert_all_button.setEnabled(is_startable)

    def _on_compare_toggled(self, is_checked: bool) -> None:
        if is_checked:
            self.evaluate.setChecked(True)
        self.evaluate.setEnabled(not is_checked)

    def _build(self) -> None:
        self._help = QLabel()
        self._help.setWordWrap(True)
        for label in (self._facts, self._help):
            set_role(label, "tone", "muted")
        set_role(self.problem, "tone", "danger")
        set_role(self._bar, "thin", "true")
        set_role(self.convert_button, "kind", "primary")
        make_large(self.convert_button)
        self.rows.addLayout(self._create_head())
        for widget in (self._bar, self._facts, self.problem):
            self.rows.addWidget(widget)
        self.rows.addLayout(self._create_measures())
        self.rows.addWidget(self.more)
        self.set_num_waiting(0)
        self._set_busy(False)

    def _create_head(self) -> QHBoxLayout:
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self._title)
        words.addWidget(self._help)
        row = QHBoxLayout()
        row.setSpacing(10)
        row.addLayout(words, 1)
        for button in (self.cancel_button, self.convert_all_button, self.convert_button):
            row.addWidget(button)
        return row

    def _create_measures(self) -> FlowLayout:
        self.evaluate.setToolTip(
            self.tr(
                "Perplexity, and KL divergence from the source decoded densely, on a bundled "
                "public-domain text. Takes a few minutes for a large model."
            )
        )
        self.compare.setToolTip(
            self.tr("Also converts to these grids, measures each, and throws them away again.")
        )
        row = FlowLayout(20)
        row.addWidget(self.evaluate)
        row.addWidget(self.compare)
        return row

    def _connect(self) -> None:
        self.choice.changed.connect(lambda: self.plan_requested.emit(self.options()))
        self.convert_button.clicked.connect(lambda: self.convert_requested.emit(self.options()))
        self.convert_all_button.clicked.connect(
            lambda: self.convert_all_requested.emit(self.options())
        )
        self.cancel_button.clicked.connect(self.cancel_requested)
        self.compare.toggled.connect(self._on_compare_toggled)
