"""A problem as it was told and, below it, the details to copy into a report."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.ui.problems import Problem
from app.ui.theme import mono_font, set_role
from app.ui.widgets.copy_button import CopyButton
from app.ui.widgets.problem_text import ProblemText


class DetailsDialog(QDialog):
    """Deletes itself when closed."""

    def __init__(self, problem: Problem, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Details"))
        self.resize(560, 320)
        self.body = ProblemText()
        self.body.show_problem(problem)
        text = QPlainTextEdit(problem.detail)
        text.setReadOnly(True)
        text.setFont(mono_font())
        text.setAccessibleName(self.tr("Details"))
        set_role(text, "kind", "field")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 20, 20, 16)
        layout.setSpacing(12)
        layout.addWidget(self.body)
        layout.addWidget(text, 1)
        layout.addLayout(self._create_buttons(problem.report))

    def _create_buttons(self, report: str) -> QHBoxLayout:
        close = QPushButton(self.tr("Close"))
        close.setDefault(True)
        close.clicked.connect(self.accept)
        row = QHBoxLayout()
        row.addWidget(CopyButton(lambda: report, self.tr("Copy message and details")))
        row.addStretch()
        row.addWidget(close)
        return row
