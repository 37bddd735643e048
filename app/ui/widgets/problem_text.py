"""What happened, why, and what to do about it, one below the other."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from app.ui.problems import Problem
from app.ui.theme import set_role, ui_font


class ProblemText(QWidget):
    """Of a banner and of a card; lines without a text are not there."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title, self.reason, self.advice = QLabel(), QLabel(), QLabel()
        self.title.setFont(ui_font(1.05, bold=True))
        set_role(self.advice, "tone", "muted")
        self.rows = QVBoxLayout(self)
        self.rows.setContentsMargins(0, 0, 0, 0)
        self.rows.setSpacing(4)
        for label in (self.title, self.reason, self.advice):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            self.rows.addWidget(label)

    def show_problem(self, problem: Problem) -> None:
        """Replaces what was shown."""
        lines = (problem.title, problem.reason, problem.advice)
        for label, text in zip((self.title, self.reason, self.advice), lines, strict=True):
            label.setText(text)
            label.setVisible(bool(text))
