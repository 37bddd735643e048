"""What the difference analysis found: ours beside the reference's, what differs first."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from app.core.validation_events import Difference, DifferenceList, DifferenceState
from app.ui.item_models.row_model import Column
from app.ui.theme import set_role
from app.ui.widgets.card import Card
from app.ui.widgets.fold_button import FoldButton
from app.ui.widgets.row_table import RowTable

_ORDER = [DifferenceState.DIFFERENT, DifferenceState.UNCONFIRMED, DifferenceState.SAME]


class DifferencesCard(Card):
    """What is the same is folded until it is asked for."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Beside the reference"), parent)
        self._differences: list[Difference] = []
        self.summary = QLabel()
        self.summary.setWordWrap(True)
        self.table = RowTable(self._create_columns(), self.tr("Differences"), max_rows=16)
        self.same_button = FoldButton()
        self.same_button.toggled.connect(self._show_rows)
        set_role(self.summary, "tone", "muted")
        self.rows.addWidget(self.summary)
        self.rows.addWidget(self.table)
        self.rows.addWidget(self.same_button, alignment=Qt.AlignmentFlag.AlignLeft)
        self._show_rows()

    @property
    def has_differences(self) -> bool:
        """Whether there is anything to show."""
        return bool(self._differences)

    def clear(self) -> None:
        """Nothing is known yet."""
        self._differences = []
        self.same_button.setChecked(False)

    def add(self, differences: Sequence[Difference]) -> None:
        """One more list of the analysis."""
        self._differences += differences
        self._differences.sort(key=lambda difference: _ORDER.index(difference.state))
        self._show_rows()

    def _show_rows(self) -> None:
        shows_same = self.same_button.isChecked()
        num_same = sum(d.state is DifferenceState.SAME for d in self._differences)
        rows = [d for d in self._differences if shows_same or d.state is not DifferenceState.SAME]
        self.table.set_rows(rows)
        self.table.setVisible(bool(rows))
        self.same_button.setVisible(num_same > 0)
        show = self.tr("Show what is the same ({n})").format(n=num_same)
        self.same_button.setText(self.tr("Hide what is the same") if shows_same else show)
        self.summary.setText(self._summarize())

    def _summarize(self) -> str:
        counts = {s: sum(d.state is s for d in self._differences) for s in DifferenceState}
        text = self.tr("{same} the same · {different} different · {unconfirmed} unconfirmed")
        return text.format(**{state.value: count for state, count in counts.items()})

    def _create_columns(self) -> list[Column]:
        lists = {
            DifferenceList.MODEL: self.tr("Model"),
            DifferenceList.DATA: self.tr("Data"),
            DifferenceList.GENERATION: self.tr("Generation"),
        }
        states = {
            DifferenceState.SAME: self.tr("same"),
            DifferenceState.DIFFERENT: self.tr("different"),
            DifferenceState.UNCONFIRMED: self.tr("unconfirmed"),
        }
        return [
            Column(self.tr("List"), lambda d: lists[d.list]),
            Column(self.tr("What"), lambda d: d.name, tool_tip=lambda d: d.name),
            Column(self.tr("Ours"), lambda d: d.ours, tool_tip=lambda d: d.ours),
            Column(self.tr("Reference"), lambda d: d.reference, tool_tip=lambda d: d.reference),
            Column(self.tr("State"), lambda d: states[d.state]),
        ]
