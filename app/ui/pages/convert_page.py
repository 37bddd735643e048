"""The Convert page: a dropped source, its plan, its progress, its report."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.controllers.conversion import ConversionController, ConversionJob, ConversionState
from app.core.errors import OutputExistsError
from app.core.events import ConversionPlan, ConversionProgressed, ConversionReport, ErrorInfo
from app.ui.theme import set_role, ui_font
from app.ui.widgets.drop_zone import DropZone
from app.ui.widgets.error_card import ErrorCard
from app.ui.widgets.plan_card import PlanCard
from app.ui.widgets.progress_card import ProgressCard
from app.ui.widgets.report_card import ReportCard
from app.ui.widgets.source_card import SourceCard

_COLUMN_WIDTH = 920


class ConvertPage(QWidget):
    """Shows the job that the controller tells of; the last one stays until the next.

    Signals:
        file_requested, folder_requested: pick by dialog.
        starter_requested: take the starter model.
        chat_requested(Path): talk to the checkpoint in this folder.
    """

    file_requested = Signal()
    folder_requested = Signal()
    starter_requested = Signal()
    chat_requested = Signal(object)

    def __init__(
        self, controller: ConversionController, *, has_starter: bool, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._controller = controller
        self._job: ConversionJob | None = None
        self.drop_zone = DropZone(has_starter=has_starter)
        self.source = SourceCard()
        self.progress = ProgressCard()
        self.plan = PlanCard()
        self.report = ReportCard()
        self.error = ErrorCard()
        self._queue = QLabel()
        self._clear_queue = QPushButton(self.tr("Forget them"))
        self._pick_another = QPushButton(self.tr("Convert another…"))
        self._build()
        self._connect()
        self._show_only(self.drop_zone)

    def _show_only(self, *cards: QWidget) -> None:
        for card in (
            self.drop_zone,
            self.source,
            self.progress,
            self.error,
            self.report,
            self.plan,
        ):
            card.setVisible(card in cards)
        self._pick_another.setVisible(self.drop_zone not in cards)

    def _on_job_started(self, job: ConversionJob) -> None:
        self._job = job
        self.source.show_job(job)
        self.progress.show_planning()
        self._show_only(self.source, self.progress)

    def _on_planned(self, plan: ConversionPlan) -> None:
        self.source.show_plan(plan)
        self.plan.show_plan(plan)
        self.progress.show_starting(plan.num_layers)
        self._show_only(self.source, self.progress, self.plan)

    def _on_progressed(self, progress: ConversionProgressed) -> None:
        if self._controller.state is not ConversionState.CANCELLING:
            self.progress.show_progress(progress)

    def _on_state_changed(self, state: ConversionState) -> None:
        if state is ConversionState.CANCELLING:
            self.progress.show_cancelling()

    def _on_finished(self, report: ConversionReport) -> None:
        self.report.show_report(report)
        self._show_only(self.source, self.report, self.plan)
        if self.isVisible():
            self.report.chat_button.setFocus()

    def _on_failed(self, error: ErrorInfo) -> None:
        if error.kind == OutputExistsError.__name__:
            self.error.show_exists(self._job_name, error)
        else:
            self.error.show_error(self._job_name, error)
        self._show_only(self.error, self.drop_zone)

    def _on_cancelled(self) -> None:
        self.error.show_cancelled(self._job_name)
        self._show_only(self.error, self.drop_zone)

    def _on_retry_requested(self) -> None:
        if self._job is not None:
            self._controller.enqueue([self._job.source])

    def _on_overwrite_requested(self) -> None:
        if self._job is not None:
            self._controller.enqueue([self._job.source], overwrite=True)

    def _on_existing_chat_requested(self) -> None:
        if self._job is not None:
            self.chat_requested.emit(self._job.output)

    def _on_queue_changed(self, queue: Sequence[ConversionJob]) -> None:
        names = ", ".join(job.source.name for job in queue)
        self._queue.setText(self.tr("Waiting: {names}").format(names=names))
        self._queue.setVisible(bool(queue))
        self._clear_queue.setVisible(bool(queue))

    @property
    def _job_name(self) -> str:
        return self._job.source.name if self._job else ""

    def _build(self) -> None:
        area = QScrollArea()
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidgetResizable(True)
        area.setFocusPolicy(area.focusPolicy().NoFocus)
        area.setWidget(self._create_content())
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(area)

    def _create_content(self) -> QWidget:
        column = QWidget()
        column.setMaximumWidth(_COLUMN_WIDTH)
        rows = QVBoxLayout(column)
        rows.setContentsMargins(28, 24, 28, 28)
        rows.setSpacing(16)
        rows.addLayout(self._create_head())
        rows.addLayout(self._create_queue_row())
        for card in (
            self.error,
            self.source,
            self.progress,
            self.report,
            self.plan,
            self.drop_zone,
        ):
            rows.addWidget(card)
        rows.addStretch(1)
        content = QWidget()
        centred = QHBoxLayout(content)
        centred.setContentsMargins(0, 0, 0, 0)
        centred.addStretch(1)
        centred.addWidget(column, 1000)
        centred.addStretch(1)
        return content

    def _create_head(self) -> QHBoxLayout:
        title = QLabel(self.tr("Convert"))
        title.setFont(ui_font(1.8, bold=True))
        self._pick_another.clicked.connect(self.file_requested)
        row = QHBoxLayout()
        row.addWidget(title, 1)
        row.addWidget(self._pick_another)
        return row

    def _create_queue_row(self) -> QHBoxLayout:
        set_role(self._queue, "tone", "muted")
        set_role(self._clear_queue, "kind", "link")
        row = QHBoxLayout()
        row.addWidget(self._queue)
        row.addWidget(self._clear_queue)
        row.addStretch()
        self._on_queue_changed(())
        return row

    def _connect(self) -> None:
        controller = self._controller
        controller.job_started.connect(self._on_job_started)
        controller.planned.connect(self._on_planned)
        controller.progressed.connect(self._on_progressed)
        controller.state_changed.connect(self._on_state_changed)
        controller.finished.connect(self._on_finished)
        controller.failed.connect(self._on_failed)
        controller.cancelled.connect(self._on_cancelled)
        controller.queue_changed.connect(self._on_queue_changed)
        self._clear_queue.clicked.connect(controller.clear_queue)
        self.progress.cancel_requested.connect(controller.cancel)
        self.error.retry_requested.connect(self._on_retry_requested)
        self.error.overwrite_requested.connect(self._on_overwrite_requested)
        self.error.chat_requested.connect(self._on_existing_chat_requested)
        self.report.chat_requested.connect(self.chat_requested)
        self.drop_zone.file_requested.connect(self.file_requested)
        self.drop_zone.folder_requested.connect(self.folder_requested)
        self.drop_zone.starter_requested.connect(self.starter_requested)
