"""Work that did not succeed: what happened, why, what to do next, and details to copy."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from app.core.events import ErrorInfo
from app.ui.dialogs.details_dialog import DetailsDialog
from app.ui.icons import IconLabel
from app.ui.problems import Problem, Way, describe, way_label
from app.ui.theme import set_role
from app.ui.widgets.card import Card
from app.ui.widgets.copy_button import CopyButton
from app.ui.widgets.problem_text import ProblemText

# Those that lead away from Convert, Validate and Download, where these cards are.
_WAYS = (Way.LIBRARY, Way.DOWNLOAD_SETTINGS)


class ErrorCard(Card):
    """Signals:
    retry_requested: the same source again.
    resume_requested: go on with what is kept.
    discard_requested: throw away what is kept of a paused conversion.
    overwrite_requested: the same source again, in place of the checkpoint that is there.
    chat_requested: talk to the checkpoint that is there.
    way_requested(Way): a way out that the window knows.
    """

    retry_requested = Signal()
    resume_requested = Signal()
    discard_requested = Signal()
    overwrite_requested = Signal()
    chat_requested = Signal()
    way_requested = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._problem = Problem("", "")
        self.body = ProblemText()
        self.message = self.body.reason
        self._failure_icon = IconLabel("warning", size=24, tone="danger")
        self._calm_icon = IconLabel("stop", size=24)
        self._details_button = QPushButton(self.tr("Details"))
        self._details_button.clicked.connect(self._on_details_clicked)
        self._retry_button = QPushButton(self.tr("Try again"))
        self._retry_button.clicked.connect(self.retry_requested)
        self.resume_button = QPushButton(self.tr("Resume"))
        self.resume_button.clicked.connect(self.resume_requested)
        self.discard_button = QPushButton(self.tr("Throw it away"))
        self.discard_button.clicked.connect(self.discard_requested)
        self._overwrite_button = QPushButton(self.tr("Convert again"))
        self._overwrite_button.clicked.connect(self.overwrite_requested)
        self.chat_button = QPushButton(self.tr("Chat with it"))
        self.chat_button.clicked.connect(self.chat_requested)
        self._choices = (
            self.chat_button,
            self._overwrite_button,
            self.resume_button,
            self.discard_button,
            self._retry_button,
        )
        self._way_buttons = {way: QPushButton(way_label(way)) for way in _WAYS}
        for way, button in self._way_buttons.items():
            button.clicked.connect(lambda _=False, way=way: self.way_requested.emit(way))
        self.copy_button = CopyButton(lambda: self._problem.report, self.tr("Copy the message"))
        self._build()

    def show_error(self, name: str, error: ErrorInfo) -> None:
        """Shows what went wrong with the conversion of the source `name`."""
        self.show_failure(self.tr("{name} was not converted").format(name=name), error)

    def show_failure(self, title: str, error: ErrorInfo) -> None:
        """Shows what went wrong."""
        self._show(describe(error, title), self._retry_button, self.copy_button)

    def show_exists(self, name: str, error: ErrorInfo) -> None:
        """The library has it already: no failure, but a choice."""
        title = self.tr("{name} is in the library already").format(name=name)
        problem = replace(describe(error, title), advice="")
        self._show(problem, self.chat_button, self._overwrite_button)

    def show_cancelled(self, name: str) -> None:
        """The user stopped it."""
        text = self.tr("{name} was not converted; nothing was left behind.").format(name=name)
        self._show(Problem(self.tr("Cancelled"), text), self._retry_button)

    def show_paused(self, name: str) -> None:
        """The user stopped it for now."""
        text = self.tr(
            "What is done of {name} stays on the disk: resume it now, or drop the file again later."
        ).format(name=name)
        problem = Problem(self.tr("Paused"), text)
        self._show(problem, self.resume_button, self.discard_button)

    def _show(self, problem: Problem, *buttons: QWidget) -> None:
        self._problem = problem
        self.body.show_problem(problem)
        self._details_button.setVisible(bool(problem.detail))
        is_failure = self.copy_button in buttons
        self._failure_icon.setVisible(is_failure)
        self._calm_icon.setVisible(not is_failure)
        for button in (*self._choices, self.copy_button):
            button.setVisible(button in buttons)
        for way, button in self._way_buttons.items():
            button.setVisible(way in problem.ways)

    def _on_details_clicked(self) -> None:
        DetailsDialog(self._problem, self).open()

    def _build(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(10)
        top = Qt.AlignmentFlag.AlignTop
        head.addWidget(self._failure_icon, 0, top)
        head.addWidget(self._calm_icon, 0, top)
        head.addWidget(self.body, 1)
        head.addWidget(self.copy_button, 0, top)
        buttons = QHBoxLayout()
        buttons.setSpacing(10)
        for button in (self.chat_button, self.resume_button):
            set_role(button, "kind", "primary")
        set_role(self._details_button, "kind", "link")
        for button in (*self._choices, *self._way_buttons.values(), self._details_button):
            buttons.addWidget(button)
        buttons.addStretch()
        self.rows.addLayout(head)
        self.body.rows.addSpacing(6)
        self.body.rows.addLayout(buttons)
