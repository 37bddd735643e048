"""What was dropped: its name, and what it was recognised as."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from app.controllers.conversion_job import ConversionJob
from app.core.conversion_events import ConversionPlan
from app.core.units import format_bytes
from app.ui.formats import format_parameters
from app.ui.sentences import shown
from app.ui.theme import set_role, ui_font
from app.ui.widgets.card import Card, clear_layout, create_chip
from app.ui.widgets.flow_layout import FlowLayout


class SourceCard(Card):
    """Named at once, described as soon as the plan is there."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._name = QLabel()
        self._name.setFont(ui_font(1.3, bold=True))
        self._name.setWordWrap(True)
        self._name.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._chips = FlowLayout()
        self._place = QLabel()
        self._place.setWordWrap(True)
        self._place.setTextFormat(Qt.TextFormat.PlainText)
        self._notes = QLabel()
        self._notes.setWordWrap(True)
        for label in (self._place, self._notes):
            set_role(label, "tone", "muted")
        self.rows.addWidget(self._name)
        self.rows.addLayout(self._chips)
        self.rows.addWidget(self._place)
        self.rows.addWidget(self._notes)

    def show_job(self, job: ConversionJob) -> None:
        """A source that has not been looked into yet."""
        self._name.setText(job.source.name)
        self._place.setText(str(job.source.parent))
        self._notes.hide()
        self._set_chips([])

    def show_plan(self, plan: ConversionPlan) -> None:
        """What the source is."""
        self._name.setText(plan.name)
        sizes = self.tr("{before} → {after}")
        before, after = format_bytes(plan.source_bytes), format_bytes(plan.output_bytes)
        self._set_chips(
            [
                plan.format.upper(),
                plan.architecture,
                self.tr("{n} parameters").format(n=format_parameters(plan.num_parameters)),
                self.tr("{n} layers").format(n=plan.num_layers),
                sizes.format(before=before, after=after),
                self.tr("{size} of memory").format(size=format_bytes(plan.memory_bytes)),
            ]
        )
        self._place.setText(self.tr("into the library as {name}").format(name=plan.output.name))
        self._place.setToolTip(str(plan.output))
        self._notes.setText("\n".join(map(shown, plan.notes)))
        self._notes.setVisible(bool(plan.notes))

    def _set_chips(self, texts: list[str]) -> None:
        clear_layout(self._chips)
        for text in texts:
            self._chips.addWidget(create_chip(text))
