"""An error above a page: what happened, why, what to do as buttons, details to copy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton, QWidget

from app.ui.dialogs.details_dialog import DetailsDialog
from app.ui.problems import Problem, Way, way_label
from app.ui.theme import set_role
from app.ui.widgets.banner import Banner, BannerTone
from app.ui.widgets.flow_layout import FlowLayout
from app.ui.widgets.problem_text import ProblemText


class ProblemBanner(Banner):
    """Signals:
    way_requested(Way): one of the buttons.
    """

    way_requested = Signal(object)

    def __init__(
        self,
        problem: Problem,
        tone: BannerTone = BannerTone.DANGER,
        *,
        action: str = "",
        parent: QWidget | None = None,
    ) -> None:
        body = ProblemText()
        body.show_problem(problem)
        super().__init__(
            problem.reason,
            tone,
            action=action,
            detail=problem.detail,
            body=body,
            parent=parent,
        )
        self.problem, self.body = problem, body
        self.setAccessibleName(" ".join(filter(None, (problem.title, problem.reason))))
        self._buttons = QWidget()
        self._flow = FlowLayout(parent=self._buttons)
        self.body.rows.addSpacing(2)
        self.body.rows.addWidget(self._buttons)
        self._flow.addWidget(self._details_button)
        self._buttons.setVisible(bool(problem.detail))
        for way in problem.ways:
            self.add_way(way)

    def add_way(self, way: Way) -> QPushButton:
        """A button that asks for one."""
        return self.add_button(way_label(way), partial(self.way_requested.emit, way))

    def _on_details_clicked(self) -> None:
        DetailsDialog(self.problem, self).open()

    def add_button(
        self, label: str, on_clicked: Callable[[], object], *, is_primary: bool = False
    ) -> QPushButton:
        """One more thing to do."""
        button = QPushButton(label)
        if is_primary:
            set_role(button, "kind", "primary")
        button.clicked.connect(lambda: on_clicked())
        self._flow.removeWidget(self._details_button)
        self._flow.addWidget(button)
        self._flow.addWidget(self._details_button)  # the last one
        self._buttons.show()
        return button
