"""Dropped sources become checkpoints: a queue in the window, the work in one worker process."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.controllers.conversion_job import (
    ConversionJob,
    ConversionOptions,
    ConversionState,
    create_convert_command,
    create_evaluate_command,
    create_output_name,
    create_plan_command,
    kept_options,
)
from app.controllers.report_saver import ReportSaver
from app.controllers.story import Story
from app.controllers.worker_link import WorkerLink, describe_death
from app.core.conversion_events import (
    ConversionFinished,
    ConversionPlan,
    ConversionPlanned,
    ConversionProgressed,
    EvaluationFinished,
    EvaluationProgressed,
    MeasuringProgressed,
)
from app.core.errors import OutputExistsError
from app.core.events import ErrorInfo, Event, JobCancelled, JobFailed, WorkerDied
from app.core.sentence import Sentence
from app.workers.commands import CancelJob, DiscardParts

_WAITING = (ConversionState.PLANNED, ConversionState.REFUSED)
_WORKING = (ConversionState.PLANNING, ConversionState.CONVERTING, ConversionState.EVALUATING)
_TOLD = (
    "job_started",
    "state_changed",
    "planned",
    "plan_refused",
    "progressed",
    "measured",
    "evaluation_progressed",
    "finished",
    "failed",
    "cancelled",
    "evaluated",
    "evaluation_failed",
    "evaluation_cancelled",
)
_LATEST = ("progressed", "measured", "evaluation_progressed")
_DEATH = Sentence(
    "The conversion process ended unexpectedly, perhaps because memory ran out; "
    "nothing was added to the library."
)


class ConversionController(QObject):
    """Converts the queued sources one after another; the worker process lives as long as the queue.

    Every started job ends in exactly one of `finished`, `failed`, `cancelled`, emitted while
    `current_job` is still that job; then the next one starts or the state becomes IDLE. A finished
    one can be evaluated later, which ends in `evaluated`, `evaluation_failed` or
    `evaluation_cancelled`.

    `story` tells a page that is built later of the last job.

    Signals (all on the GUI thread):
        state_changed(ConversionState)
        queue_changed(tuple[ConversionJob, ...]): the jobs that wait, without the current one.
        job_started(ConversionJob): the job left the queue; what follows is about it.
        planned(ConversionPlan): what will be done. With `num_kept_parts` an interrupted conversion
            can be resumed, and the job's options are those that it was begun with.
        plan_refused(ErrorInfo): a replan was; the job waits for other options.
        progressed(ConversionProgressed)
        measured(MeasuringProgressed)
        evaluation_progressed(EvaluationProgressed)
        finished(ConversionReport): the checkpoint is in `report.output`.
        failed(ErrorInfo): refused, failed, or the worker process died. The kind is
            OutputExistsError when the library has it already: chat with `current_job.output`, or
            enqueue the source again with `overwrite`.
        cancelled(bool): True when the parts that were done stay to be resumed, else nothing was
            left behind.
        evaluated(tuple[GridEvaluation, ...]), evaluation_failed(ErrorInfo), evaluation_cancelled().
    """

    state_changed = Signal(object)
    queue_changed = Signal(object)
    job_started = Signal(object)
    planned = Signal(object)
    plan_refused = Signal(object)
    progressed = Signal(object)
    measured = Signal(object)
    evaluation_progressed = Signal(object)
    finished = Signal(object)
    failed = Signal(object)
    cancelled = Signal(bool)
    evaluated = Signal(object)
    evaluation_failed = Signal(object)
    evaluation_cancelled = Signal()

    def __init__(
        self, library_dir: Path, parent: QObject | None = None, *, service: str = "convert"
    ) -> None:
        super().__init__(parent)
        self.reports = ReportSaver(self)
        self.story = Story(self, _TOLD, beginnings=("job_started",), latest=_LATEST)
        self._library_dir = library_dir
        self._state = ConversionState.IDLE
        self._queue: deque[ConversionJob] = deque()
        self._current: ConversionJob | None = None
        self._plan: ConversionPlan | None = None
        self._is_evaluating = self._keeps_parts = False
        self._num_stale_plans = 0  # asked for, and no longer wanted
        self._job_ids = itertools.count(1)
        self._link = WorkerLink(service, self)
        self._link.event_received.connect(self._on_link_event_received)

    @property
    def state(self) -> ConversionState:
        """The state last told by `state_changed`."""
        return self._state

    @property
    def current_job(self) -> ConversionJob | None:
        """The job being planned, converted or evaluated; None in IDLE."""
        return self._current

    @property
    def queue(self) -> tuple[ConversionJob, ...]:
        """The jobs that wait."""
        return tuple(self._queue)

    @property
    def is_converting(self) -> bool:
        """Whether a checkpoint is being made: closing the window would interrupt it."""
        is_at_work = self._state in (ConversionState.CONVERTING, ConversionState.CANCELLING)
        return is_at_work and not self._is_evaluating

    @property
    def is_worker_running(self) -> bool:
        """Whether the worker process lives; its memory is given back soon after the last job."""
        return self._link.is_running

    def enqueue(
        self,
        sources: Sequence[Path],
        options: ConversionOptions | None = None,
        *,
        tokenizer_dir: Path | None = None,
        overwrite: bool = False,
        start: bool = True,
        output: Path | None = None,
    ) -> None:
        """Queues dropped files or folders; `start` False: each waits in PLANNED for `start()`.

        `output` is the folder of a single one that is not called like its source.
        """
        for source in sources:
            self._queue.append(
                ConversionJob(
                    job_id=next(self._job_ids),
                    source=source,
                    output=output or self._library_dir / create_output_name(source),
                    options=options or ConversionOptions(),
                    tokenizer_dir=tokenizer_dir,
                    overwrite=overwrite,
                    starts_at_once=start,
                )
            )
        self.queue_changed.emit(self.queue)
        if self._current is None:
            self._start_next()

    def set_library_dir(self, library_dir: Path) -> None:
        """Where checkpoints of jobs that are queued from now on appear."""
        self._library_dir = library_dir

    def resume(self, job: ConversionJob) -> None:
        """Queues a job that was cancelled with `keep_parts`, to go on as it was begun."""
        again = replace(job, job_id=next(self._job_ids), starts_at_once=True, resumes=True)
        self._queue.append(again)
        self.queue_changed.emit(self.queue)
        if self._current is None:
            self._start_next()

    def start(self, options: ConversionOptions | None = None, *, resume: bool = False) -> None:
        """Converts the job that waits in PLANNED; no effect in another state. `options` may differ
        from the planned ones in what is measured; `resume` keeps what an interrupted one made.
        """
        if self._current is None or self._state is not ConversionState.PLANNED:
            return
        options = options or self._current.options
        job = replace(self._current, options=options, starts_at_once=True, resumes=resume)
        self._current = job
        self._set_state(ConversionState.CONVERTING)
        self._link.send(create_convert_command(job))

    def start_all(self, options: ConversionOptions) -> None:
        """As `start`, and the jobs that wait are converted the same way, one after another."""
        if self._state is ConversionState.PLANNED:
            waiting = [replace(job, options=options, starts_at_once=True) for job in self._queue]
            self._queue = deque(waiting)
            self.start(options)

    def replan(self, options: ConversionOptions) -> None:
        """Plans the job that waits again, with other options; answered by `planned` or
        `plan_refused`. A plan that is being made is given up.
        """
        job = self._current
        if job is None or job.starts_at_once or self._state not in (*_WAITING, _WORKING[0]):
            return
        if self._state is ConversionState.PLANNING:
            self._num_stale_plans += 1
            self._link.send(CancelJob())
        self._current = replace(job, options=options)
        self._set_state(ConversionState.PLANNING)
        self._link.send(create_plan_command(self._current, resume=False))

    def evaluate(self, job: ConversionJob, compare: tuple[str, ...] = ()) -> None:
        """Measures the checkpoint that a finished job made, and other grids; in IDLE only."""
        if self._state is ConversionState.IDLE:
            self._current, self._is_evaluating = job, True
            self._set_state(ConversionState.EVALUATING)
            self._link.send(create_evaluate_command(job, compare))

    def cancel(self, *, keep_parts: bool = False) -> None:
        """Cancels the current job; the queue goes on. `keep_parts`: it can be resumed later."""
        if self._state in _WAITING:
            self.cancelled.emit(self._plan is not None and self._plan.num_kept_parts > 0)
            self._start_next()
        elif self._state in _WORKING:
            self._keeps_parts = keep_parts and self._state is ConversionState.CONVERTING
            self._set_state(ConversionState.CANCELLING)
            self._link.send(CancelJob(self._keeps_parts))

    def discard_parts(self, output: Path) -> None:
        """Throws away what an interrupted conversion to `output` left."""
        self._link.send(DiscardParts(output))
        self.story.note("cancelled", False)
        if self._current is None:
            self._link.end()

    def clear_queue(self) -> None:
        """Forgets the jobs that wait."""
        self._queue.clear()
        self.queue_changed.emit(())

    def shutdown(self) -> None:
        """Stops what runs, ends the worker process and waits; call once before the application
        quits. What is converted stays to be resumed.
        """
        self._queue.clear()
        self._link.shutdown()
        self.reports.shutdown()

    def _start_next(self) -> None:
        self._current = self._plan = None
        self._is_evaluating = self._keeps_parts = False
        while self._queue and self._current is None:
            self._start(self._queue.popleft())
        if self._current is None:
            self._set_state(ConversionState.IDLE)
            self._link.end()  # gives the memory back

    def _start(self, job: ConversionJob) -> None:
        self._current = job
        self.queue_changed.emit(self.queue)
        self.job_started.emit(job)
        if job.output.exists() and not job.overwrite:
            message = Sentence("{name} is in the library already.", name=job.output.name)
            self.failed.emit(ErrorInfo.from_exception(OutputExistsError(message)))
            self._current = None
            return
        self._set_state(ConversionState.PLANNING)
        if job.starts_at_once:
            self._link.send(create_convert_command(job))
        else:
            self._link.send(create_plan_command(job, resume=True))

    def _set_state(self, state: ConversionState) -> None:
        if state is not self._state:
            self._state = state
            self.state_changed.emit(state)

    @Slot(object)
    def _on_link_event_received(self, event: Event) -> None:
        if self._current is None or self._is_stale(event):
            return
        match event:
            case ConversionPlanned():
                self._receive_plan(event.plan, self._current)
            case ConversionProgressed():
                self.progressed.emit(event)
            case MeasuringProgressed():
                self.measured.emit(event)
            case EvaluationProgressed():
                self.evaluation_progressed.emit(event)
            case ConversionFinished():
                self.finished.emit(event.report)
                self._start_next()
            case EvaluationFinished():
                self.evaluated.emit(event.evaluations)
                self._start_next()
            case JobFailed():
                self._receive_failure(event.error, self._current)
            case JobCancelled():
                self._receive_cancellation()
            case WorkerDied():
                self._fail(describe_death(event, _DEATH))

    def _is_stale(self, event: Event) -> bool:
        """Whether this is about a plan that is no longer wanted."""
        if not self._num_stale_plans:
            return False
        if isinstance(event, WorkerDied):
            self._num_stale_plans = 0
            return False
        if isinstance(event, ConversionPlanned | JobFailed | JobCancelled):
            self._num_stale_plans -= 1
        return True

    def _receive_plan(self, plan: ConversionPlan, job: ConversionJob) -> None:
        is_cancelling = self._state is ConversionState.CANCELLING
        if is_cancelling and not job.starts_at_once:
            self.cancelled.emit(False)  # the plan was this job's last event
            self._start_next()
            return
        self._plan = plan
        if plan.num_kept_parts and not job.starts_at_once:
            self._current = replace(job, options=kept_options(plan))
        self.planned.emit(plan)
        if not is_cancelling:
            is_started = job.starts_at_once
            self._set_state(ConversionState.CONVERTING if is_started else ConversionState.PLANNED)

    def _receive_failure(self, error: ErrorInfo, job: ConversionJob) -> None:
        is_replan = self._plan is not None and not job.starts_at_once
        if is_replan and self._state is ConversionState.PLANNING:
            self._set_state(ConversionState.REFUSED)
            self.plan_refused.emit(error)
        else:
            self._fail(error)

    def _receive_cancellation(self) -> None:
        if self._is_evaluating:
            self.evaluation_cancelled.emit()
        else:
            self.cancelled.emit(self._keeps_parts)
        self._start_next()

    def _fail(self, error: ErrorInfo) -> None:
        (self.evaluation_failed if self._is_evaluating else self.failed).emit(error)
        self._start_next()
