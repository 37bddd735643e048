"""An interrupted conversion of the same file: go on with it, or begin anew."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from app.core.conversion_events import ConversionPlan
from app.ui.grid_labels import grid_label
from app.ui.theme import make_large, set_role, ui_font
from app.ui.widgets.card import Card


class ResumeCard(Card):
    """Signals:
    resume_requested, restart_requested, cancel_requested
    """

    resume_requested = Signal()
    restart_requested = Signal()
    cancel_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        title = QLabel(self.tr("This conversion was interrupted"))
        title.setFont(ui_font(1.3, bold=True))
        self._text = QLabel()
        self._text.setWordWrap(True)
        set_role(self._text, "tone", "muted")
        self.resume_button = QPushButton(self.tr("Resume"))
        self.restart_button = QPushButton(self.tr("Start over"))
        cancel = QPushButton(self.tr("Cancel"))
        set_role(self.resume_button, "kind", "primary")
        make_large(self.resume_button)
        self.resume_button.clicked.connect(self.resume_requested)
        self.restart_button.clicked.connect(self.restart_requested)
        cancel.clicked.connect(self.cancel_requested)
        head = QHBoxLayout()
        head.setSpacing(10)
        head.addWidget(title, 1)
        for button in (cancel, self.restart_button, self.resume_button):
            head.addWidget(button)
        self.rows.addLayout(head)
        self.rows.addWidget(self._text)

    def show_plan(self, plan: ConversionPlan) -> None:
        """What is there already."""
        text = self.tr(
            "{done} of {total} parts are on the disk, converted to: {grid}. "
            "Resuming makes only the others; the result is the same to the byte."
        )
        self._text.setText(
            text.format(done=plan.num_kept_parts, total=plan.num_parts, grid=grid_label(plan.grid))
        )
