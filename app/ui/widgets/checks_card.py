"""All checks of a validation, live: one row each, and how many there are still to come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.core.validation_events import Check, CheckStatus, PlannedCheck
from app.ui.theme import set_role, ui_font
from app.ui.widgets.card import Card, clear_layout
from app.ui.widgets.check_row import CheckRow
from app.ui.widgets.progress_bar import ProgressBar


class ChecksCard(Card):
    """Signals:
    cancel_requested: stop the validation.
    """

    cancel_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._rows: dict[str, CheckRow] = {}
        self._ended: Counter[CheckStatus] = Counter()
        self._unfinished: set[str] = set()
        self.summary = QLabel()
        self.progress = ProgressBar(self.tr("Checks that have ended"))
        self.cancel_button = QPushButton(self.tr("Cancel"))
        self.cancel_button.clicked.connect(self.cancel_requested)
        self._list = QVBoxLayout()
        self._list.setSpacing(0)
        self._build()

    def show_opening(self) -> None:
        """The source is being looked at; there are no rows yet."""
        self._reset([])
        self.summary.setText(self.tr("Looking at it…"))
        self.progress.setRange(0, 0)
        self._set_running(True)

    def show_planned(self, checks: Sequence[PlannedCheck]) -> None:
        """The rows to come."""
        self._reset(checks)
        self.progress.setRange(0, len(checks))
        self._summarize()

    def show_running(self, name: str) -> None:
        """A row has begun."""
        self._rows[name].show_running()

    def show_step(self, name: str, step: str) -> None:
        """What a row is at."""
        self._rows[name].show_step(step)

    def show_check(self, check: Check) -> None:
        """A row has ended."""
        self._rows[check.name].show_check(check)
        self._ended[check.status] += 1
        self._unfinished.discard(check.name)
        self._summarize()

    def show_cancelling(self) -> None:
        """The user does not want the rest."""
        self.summary.setText(self.tr("Stopping…"))
        self.cancel_button.setEnabled(False)

    def show_ended(self) -> None:
        """Nothing follows; rows that did not end are marked."""
        for name in self._unfinished:
            self._rows[name].show_stopped()
        self._set_running(False)

    def row(self, name: str) -> CheckRow:
        """The row of a check."""
        return self._rows[name]

    def _reset(self, checks: Sequence[PlannedCheck]) -> None:
        clear_layout(self._list)
        self._ended.clear()
        self._rows = {check.name: CheckRow(check) for check in checks}
        self._unfinished = set(self._rows)
        for row in self._rows.values():
            self._list.addWidget(row)

    def _summarize(self) -> None:
        num_ended = self._ended.total()
        parts = [self.tr("{done} of {all} checks").format(done=num_ended, all=len(self._rows))]
        labels = {
            CheckStatus.PASS: self.tr("{n} passed"),
            CheckStatus.FAIL: self.tr("{n} failed"),
            CheckStatus.NOT_RUN: self.tr("{n} not run"),
        }
        parts += [
            text.format(n=self._ended[status])
            for status, text in labels.items()
            if self._ended[status]
        ]
        self.summary.setText(" · ".join(parts))
        self.progress.setValue(num_ended)

    def _set_running(self, is_running: bool) -> None:
        self.progress.setVisible(is_running)
        self.cancel_button.setVisible(is_running)
        self.cancel_button.setEnabled(is_running)

    def _build(self) -> None:
        title = QLabel(self.tr("Checks"))
        title.setFont(ui_font(1.1, bold=True))
        set_role(self.summary, "tone", "muted")
        head = QHBoxLayout()
        head.setSpacing(14)
        head.addWidget(title)
        head.addWidget(self.summary, 1)
        head.addWidget(self.cancel_button)
        self.rows.addLayout(head)
        self.rows.addWidget(self.progress)
        self.rows.addLayout(self._list)
