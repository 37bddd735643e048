"""What conversions do to the predictions: grids side by side, while the source is still there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from app.core.conversion_events import ConversionReport, GridEvaluation
from app.core.events import ErrorInfo
from app.core.units import format_bytes
from app.ui.formats import format_count, format_kl, format_perplexity, format_share
from app.ui.grid_labels import COMPARED_GRIDS, grid_help, grid_label
from app.ui.item_models.row_model import Column
from app.ui.sentences import shown
from app.ui.theme import set_role, ui_font
from app.ui.widgets.card import Card, clear_layout
from app.ui.widgets.copy_button import CopyButton
from app.ui.widgets.flow_layout import FlowLayout
from app.ui.widgets.row_table import RowTable


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of the table, as it is read."""

    name: str
    size: str
    memory: str
    perplexity: str
    kl: str
    agreement: str
    help: str


class EvaluationCard(Card):
    """Signals:
    evaluation_requested(tuple[str, ...]): measure it, and these grids beside it.
    conversion_requested(str): convert the source to this grid instead.
    """

    evaluation_requested = Signal(object)
    conversion_requested = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._report: ConversionReport | None = None
        self._text = QLabel()
        self._text.setWordWrap(True)
        self.problem = QLabel()
        self.problem.setWordWrap(True)
        self.measure_button = QPushButton(self.tr("Measure the quality"))
        self.compare_button = QPushButton(self.tr("Compare 8, 4 and 3 bits"))
        self.table = RowTable(
            self._create_columns(), self.tr("Quality of each grid"), is_first_wide=True
        )
        self.copy_button = CopyButton(self.table.text, self.tr("Copy the table"))
        self._choice_buttons: list[QPushButton] = []
        self._choices = FlowLayout(10)
        self._build()

    @property
    def choice_buttons(self) -> tuple[QPushButton, ...]:
        """One for each grid that the source could be converted to instead."""
        return tuple(self._choice_buttons)

    def show_report(self, report: ConversionReport) -> None:
        """Shows what a finished conversion measured; buttons for what it did not."""
        self._report = report
        self.problem.hide()
        self._show_rows(report)
        self.set_can_measure(True)

    def show_error(self, error: ErrorInfo) -> None:
        """The measurement failed; what was measured before still stands."""
        self.problem.setText(shown(error.message))
        self.problem.show()
        self.set_can_measure(True)

    def set_can_measure(self, can_measure: bool) -> None:
        """False while something else runs."""
        for button in (self.measure_button, self.compare_button, *self.choice_buttons):
            button.setEnabled(can_measure)

    def _show_rows(self, report: ConversionReport) -> None:
        rows = report.evaluations
        for widget in (self.table, self.copy_button):
            widget.setVisible(bool(rows))
        self.measure_button.setVisible(not rows)
        self.compare_button.setVisible(len(rows) < 2)
        self._text.setText(self._describe(report))
        clear_layout(self._choices)
        if rows:
            self.table.set_rows([self._source_row(report), *map(self._row, rows)])
        self._choice_buttons = [self._create_choice(row.grid) for row in rows[1:]]
        for button in self._choice_buttons:
            self._choices.addWidget(button)

    def _describe(self, report: ConversionReport) -> str:
        if not report.evaluations:
            return self.tr(
                "Not measured yet. Perplexity says how well the model predicts a text (lower is "
                "better), KL how far its predictions are from the source's (0 is identical). "
                "Measure or compare while you still have the source."
            )
        text = self.tr(
            "Against the source decoded densely, on {n} tokens of a bundled public-domain text. "
            "Memory is weights, workspace and the KV cache of a chat; agreement is how often both "
            "find the same token likeliest. Keep the source until you are content."
        )
        return text.format(n=format_count(report.evaluations[0].num_tokens))

    def _source_row(self, report: ConversionReport) -> _Row:
        perplexity = format_perplexity(report.evaluations[0].source_perplexity)
        size = format_bytes(report.source_bytes)
        return _Row(self.tr("Source"), size, "–", perplexity, "–", "–", "")

    def _row(self, row: GridEvaluation) -> _Row:
        name = grid_label(row.grid)
        if row.grid == "this" and self._report is not None:
            name = self.tr("This one: {grid}").format(grid=grid_label(self._report.grid))
        return _Row(
            name,
            format_bytes(row.output_bytes),
            format_bytes(row.memory_bytes),
            format_perplexity(row.perplexity),
            self.tr("0, same bits") if row.proven else format_kl(row.kl_mean),
            format_share(row.top1_agreement),
            grid_help(row.grid),
        )

    def _create_choice(self, grid: str) -> QPushButton:
        text = self.tr("Convert to {grid} instead").format(grid=grid.upper())
        button = QPushButton(text)
        button.setToolTip(self.tr("Takes the place of this checkpoint in the library"))
        button.clicked.connect(partial(self.conversion_requested.emit, grid))
        return button

    def _compared_grids(self) -> tuple[str, ...]:
        own = self._report.grid if self._report is not None else ""
        return tuple(grid for grid in COMPARED_GRIDS if grid != own)

    def _create_columns(self) -> list[Column]:
        return [
            Column(self.tr("Grid"), lambda r: r.name, tool_tip=lambda r: r.help),
            Column(self.tr("Size"), lambda r: r.size, is_number=True),
            Column(self.tr("Memory"), lambda r: r.memory, is_number=True, gives_way=2),
            Column(self.tr("Perplexity"), lambda r: r.perplexity, is_number=True),
            Column(self.tr("Mean KL"), lambda r: r.kl, is_number=True),
            Column(self.tr("Agreement"), lambda r: r.agreement, is_number=True, gives_way=1),
        ]

    def _build(self) -> None:
        title = QLabel(self.tr("Quality on a text"))
        title.setFont(ui_font(1.1, bold=True))
        set_role(self._text, "tone", "muted")
        set_role(self.problem, "tone", "danger")
        self.measure_button.clicked.connect(lambda: self.evaluation_requested.emit(()))
        self.compare_button.clicked.connect(
            lambda: self.evaluation_requested.emit(self._compared_grids())
        )
        head = QHBoxLayout()
        head.addWidget(title, 1)
        head.addWidget(self.copy_button)
        buttons = QHBoxLayout()
        buttons.setSpacing(10)
        buttons.addWidget(self.measure_button)
        buttons.addWidget(self.compare_button)
        buttons.addStretch()
        self.rows.addLayout(head)
        for widget in (self._text, self.problem, self.table):
            self.rows.addWidget(widget)
        self.rows.addLayout(self._choices)
        self.rows.addLayout(buttons)
