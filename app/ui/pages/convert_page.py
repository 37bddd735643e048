"""The Convert page: a dropped source, how to convert it, its progress, its quality."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.controllers.conversion import ConversionController
from app.controllers.conversion_job import ConversionJob, ConversionOptions, ConversionState
from app.controllers.story import Slots, follow
from app.core.conversion_events import (
    ConversionPlan,
    ConversionProgressed,
    ConversionReport,
    EvaluationProgressed,
    GridEvaluation,
    MeasuringProgressed,
)
from app.core.errors import OutputExistsError
from app.core.events import ErrorInfo
from app.ui.dialogs.report_dialog import ReportDialog
from app.ui.theme import set_role, ui_font
from app.ui.widgets.drop_zone import DropZone
from app.ui.widgets.error_card import ErrorCard
from app.ui.widgets.errors_card import ErrorsCard
from app.ui.widgets.evaluation_card import EvaluationCard
from app.ui.widgets.options_card import OptionsCard
from app.ui.widgets.page_column import PageColumn
from app.ui.widgets.plan_card import PlanCard
from app.ui.widgets.progress_card import ProgressCard
from app.ui.widgets.report_card import ReportCard
from app.ui.widgets.resume_card import ResumeCard
from app.ui.widgets.source_card import SourceCard


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
        self._report: ConversionReport | None = None
        self.error = ErrorCard()
        self.source = SourceCard()
        self.resume = ResumeCard()
        self.options = OptionsCard()
        self.progress = ProgressCard()
        self.report = ReportCard()
        self.evaluation = EvaluationCard()
        self.errors = ErrorsCard()
        self.plan = PlanCard()
        self.drop_zone = DropZone(has_starter=has_starter)
        self._cards = (
            self.error,
            self.source,
            self.resume,
            self.options,
            self.progress,
            self.report,
            self.evaluation,
            self.errors,
            self.plan,
            self.drop_zone,
        )
        self._column = PageColumn()
        self._queue = QLabel()
        self._clear_queue = QPushButton(self.tr("Forget them"))
        self._pick_another = QPushButton(self.tr("Convert another…"))
        self._build()
        self._connect()
        self._show_only(self.drop_zone)

    def take_over(self, old: ConvertPage) -> None:
        """Shows what `old` shows, of which the controller knows but the choices."""
        self.options.take_over(old.options)
        self._controller.story.tell({**self._slots, "job_started": self._show_job})
        self._on_queue_changed(self._controller.queue)
        self._job = old._job
        for card, before in zip(self._cards, old._cards, strict=True):
            card.setVisible(not before.isHidden())
        self._pick_another.setVisible(not old._pick_another.isHidden())
        self._column.take_over(old._column)

    def _show_only(self, *cards: QWidget) -> None:
        for card in self._cards:
            focused = QApplication.focusWidget()
            if focused is not None and card not in cards and card.isAncestorOf(focused):
                self.setFocus()  # else Qt chooses what happens to come next
            card.setVisible(card in cards)
        self._pick_another.setVisible(self.drop_zone not in cards)
        self._column.scroll_to_top()

    def _on_job_started(self, job: ConversionJob) -> None:
        self.options.show_options(job.options)
        self._show_job(job)

    def _show_job(self, job: ConversionJob) -> None:
        self._job = job
        self._report = None
        self.source.show_job(job)
        self.progress.show_planning()
        self._show_only(self.source, self.progress)

    def _on_planned(self, plan: ConversionPlan) -> None:
        self.source.show_plan(plan)
        self.plan.show_plan(plan)
        job = self._controller.current_job
        if job is None or job.starts_at_once:
            self._show_converting(plan)
        elif plan.num_kept_parts:
            self.resume.show_plan(plan)
            self._show_only(self.source, self.resume, self.plan)
            self._focus(self.resume.resume_button)
        else:
            self._show_choice(plan)

    def _show_choice(self, plan: ConversionPlan) -> None:
        was_shown = self.options.isVisible()
        self.options.show_plan(plan)
        if not was_shown:
            self._show_only(self.source, self.options, self.plan)
            self._focus(self.options.convert_button)

    def _show_converting(self, plan: ConversionPlan) -> None:
        self.progress.show_starting(plan.num_layers)
        self._show_only(self.source, self.progress, self.plan)

    def _focus(self, button: QPushButton) -> None:
        """So that Enter takes what is offered."""
        if self.isVisible():
            button.setFocus()

    def _on_plan_refused(self, error: ErrorInfo) -> None:
        self.options.show_refused(error)

    def _on_measured(self, progress: MeasuringProgressed) -> None:
        self.options.show_measuring(progress)
        self.progress.show_measuring(progress)

    def _on_progressed(self, progress: ConversionProgressed) -> None:
        if self._controller.state is not ConversionState.CANCELLING:
            self.progress.show_progress(progress)

    def _on_evaluation_progressed(self, progress: EvaluationProgressed) -> None:
        if self._controller.state is not ConversionState.CANCELLING:
            self.progress.show_evaluation(progress)

    def _on_state_changed(self, state: ConversionState) -> None:
        if state is ConversionState.CANCELLING:
            self.progress.show_cancelling()
        if state is ConversionState.EVALUATING:
            self._show_evaluating()
        if state is ConversionState.CONVERTING and self.progress.isHidden():
            self.progress.show_opening()  # the plan is made once more, with the file at hand
            self._show_only(self.source, self.progress, self.plan)
        self.evaluation.set_can_measure(state is ConversionState.IDLE)

    def _on_finished(self, report: ConversionReport) -> None:
        self._job = self._controller.current_job or self._job
        self._report = report
        self.report.show_report(report)
        self.errors.show_report(report)
        self.evaluation.show_report(report)
        self._show_report()
        self._focus(self.report.chat_button)

    def _show_report(self) -> None:
        self._show_only(self.source, self.report, self.evaluation, self.errors, self.plan)

    def _on_failed(self, error: ErrorInfo) -> None:
        if error.kind == OutputExistsError.__name__:
            self.error.show_exists(self._job_name, error)
        else:
            self.error.show_error(self._job_name, error)
        self._show_only(self.error, self.drop_zone)

    def _on_cancelled(self, are_parts_kept: bool) -> None:
        self._job = self._controller.current_job or self._job
        if are_parts_kept:
            self.error.show_paused(self._job_name)
        else:
            self.error.show_cancelled(self._job_name)
        self._show_only(self.error, self.drop_zone)

    def _on_evaluation_requested(self, compare: tuple[str, ...]) -> None:
        if self._job is not None:
            self._controller.evaluate(self._job, compare)

    def _show_evaluating(self) -> None:
        self.progress.show_evaluating()
        self.progress.show()
        self._column.scroll_to_top()
        self.evaluation.problem.hide()

    def _on_evaluated(self, evaluations: tuple[GridEvaluation, ...]) -> None:
        if self._report is not None:
            self._report = replace(self._report, evaluations=evaluations)
            self.evaluation.show_report(self._report)
            self.progress.hide()

    def _on_evaluation_failed(self, error: ErrorInfo) -> None:
        self.evaluation.show_error(error)
        self.progress.hide()

    def _on_evaluation_cancelled(self) -> None:
        self.progress.hide()

    def _on_plan_requested(self, options: ConversionOptions) -> None:
        self.options.show_planning()
        self._controller.replan(options)

    def _on_resume_requested(self) -> None:
        self._controller.start(resume=True)

    def _on_restart_requested(self) -> None:
        self.progress.show_planning()
        self._show_only(self.source, self.progress)
        if self._job is not None:
            self._controller.replan(self._job.options)

    def _on_convert_requested(self, options: ConversionOptions) -> None:
        self._controller.start(options)

    def _on_retry_requested(self) -> None:
        if self._job is not None:
            self._plan_again(self._job, overwrite=self._job.overwrite)

    def _on_resume_paused_requested(self) -> None:
        if self._job is not None:
            self._controller.resume(self._job)

    def _on_discard_requested(self) -> None:
        if self._job is not None:
            self._controller.discard_parts(self._job.output)
            self.error.show_cancelled(self._job_name)

    def _on_overwrite_requested(self) -> None:
        if self._job is not None:
            self._plan_again(self._job, overwrite=True)

    def _plan_again(self, job: ConversionJob, *, overwrite: bool) -> None:
        self._controller.enqueue(
            [job.source],
            job.options,
            tokenizer_dir=job.tokenizer_dir,
            overwrite=overwrite,
            start=False,
            output=job.output,
        )

    def _on_conversion_requested(self, grid: str) -> None:
        if self._job is not None:
            job, size = self._job, self._job.options.group_size
            options = ConversionOptions(grid, size, allow_lossy=True, evaluate=True)
            self._controller.enqueue([job.source], options, overwrite=True, output=job.output)

    def _on_existing_chat_requested(self) -> None:
        if self._job is not None:
            self.chat_requested.emit(self._job.output)

    def _on_save_requested(self, checkpoint: Path) -> None:
        file_name = self.tr("{name} quality report.md").format(name=checkpoint.name)
        dialog = ReportDialog(file_name, self)
        dialog.path_chosen.connect(lambda path: self._controller.reports.save(checkpoint, path))
        dialog.open()

    def _on_queue_changed(self, queue: Sequence[ConversionJob]) -> None:
        names = ", ".join(job.source.name for job in queue)
        self._queue.setText(self.tr("Waiting: {names}").format(names=names))
        self._queue.setVisible(bool(queue))
        self._clear_queue.setVisible(bool(queue))
        self.options.set_num_waiting(len(queue))

    @property
    def _job_name(self) -> str:
        return self._job.source.name if self._job else ""

    def _build(self) -> None:
        rows = self._column.rows
        rows.addLayout(self._create_head())
        rows.addLayout(self._create_queue_row())
        for card in self._cards:
            rows.addWidget(card)
        self._column.close_rows()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._column)

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
        self._connect_controller(self._controller)
        self._clear_queue.clicked.connect(self._controller.clear_queue)
        self._connect_choices()
        self.error.retry_requested.connect(self._on_retry_requested)
        self.error.resume_requested.connect(self._on_resume_paused_requested)
        self.error.discard_requested.connect(self._on_discard_requested)
        self.error.overwrite_requested.connect(self._on_overwrite_requested)
        self.error.chat_requested.connect(self._on_existing_chat_requested)
        self.report.chat_requested.connect(self.chat_requested)
        self.report.save_requested.connect(self._on_save_requested)
        self.evaluation.evaluation_requested.connect(self._on_evaluation_requested)
        self.evaluation.conversion_requested.connect(self._on_conversion_requested)
        self.drop_zone.file_requested.connect(self.file_requested)
        self.drop_zone.folder_requested.connect(self.folder_requested)
        self.drop_zone.starter_requested.connect(self.starter_requested)

    def _connect_choices(self) -> None:
        controller = self._controller
        self.options.plan_requested.connect(self._on_plan_requested)
        self.options.convert_requested.connect(self._on_convert_requested)
        self.options.convert_all_requested.connect(controller.start_all)
        self.options.cancel_requested.connect(controller.cancel)
        self.resume.resume_requested.connect(self._on_resume_requested)
        self.resume.restart_requested.connect(self._on_restart_requested)
        self.resume.cancel_requested.connect(controller.cancel)
        self.progress.cancel_requested.connect(controller.cancel)
        self.progress.pause_requested.connect(lambda: controller.cancel(keep_parts=True))

    def _connect_controller(self, controller: ConversionController) -> None:
        self._slots: Slots = {
            "job_started": self._on_job_started,
            "planned": self._on_planned,
            "plan_refused": self._on_plan_refused,
            "measured": self._on_measured,
            "progressed": self._on_progressed,
            "evaluation_progressed": self._on_evaluation_progressed,
            "state_changed": self._on_state_changed,
            "finished": self._on_finished,
            "failed": self._on_failed,
            "cancelled": self._on_cancelled,
            "evaluated": self._on_evaluated,
            "evaluation_failed": self._on_evaluation_failed,
            "evaluation_cancelled": self._on_evaluation_cancelled,
        }
        follow(controller, self._slots)
        controller.queue_changed.connect(self._on_queue_changed)
        controller.reports.saved.connect(self.report.saved.show_saved)
        controller.reports.failed.connect(self.report.saved.show_error)
