"""Dropped sources become checkpoints: a queue in the window, the work in one worker process."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.controllers.worker_link import WorkerLink
from app.core.errors import OutputExistsError, WorkerError
from app.core.events import (
    ConversionFinished,
    ConversionPlan,
    ConversionPlanned,
    ConversionProgressed,
    ErrorInfo,
    Event,
    JobCancelled,
    JobFailed,
    WorkerDied,
)
from app.workers.commands import CancelJob, Command, ConvertSource, PlanConversion


class ConversionState(StrEnum):
    """What the controller is doing; buttons bind to it."""

    IDLE = "idle"
    PLANNING = "planning"
    PLANNED = "planned"
    CONVERTING = "converting"
    CANCELLING = "cancelling"


@dataclass(frozen=True, slots=True)
class ConversionJob:
    """One source in the queue and how it shall be converted. `output` is the folder to appear;
    `starts_at_once` False: the plan waits for `ConversionController.start`."""

    job_id: int
    source: Path
    output: Path
    grid: str = "auto"
    group_size: int = 128
    tokenizer_dir: Path | None = None
    overwrite: bool = False
    starts_at_once: bool = True


class ConversionController(QObject):
    """Converts the queued sources one after another; the worker process lives as long as the queue.

    Every started job ends in exactly one of `finished`, `failed`, `cancelled`, emitted while
    `current_job` is still that job; then the next one starts or the state becomes IDLE.

    Signals (all on the GUI thread):
        state_changed(ConversionState)
        queue_changed(tuple[ConversionJob, ...]): the jobs that wait, without the current one.
        job_started(ConversionJob): the job left the queue; what follows is about it.
        planned(ConversionPlan): what will be done.
        progressed(ConversionProgressed)
        finished(ConversionReport): the checkpoint is in `report.output`.
        failed(ErrorInfo): refused, failed, or the worker process died. The kind is
            OutputExistsError when the library has it already: chat with `current_job.output`, or
            enqueue the source again with `overwrite`.
        cancelled(): nothing was left behind.
    """

    state_changed = Signal(object)
    queue_changed = Signal(object)
    job_started = Signal(object)
    planned = Signal(object)
    progressed = Signal(object)
    finished = Signal(object)
    failed = Signal(object)
    cancelled = Signal()

    def __init__(
        self, library_dir: Path, parent: QObject | None = None, *, service: str = "convert"
    ) -> None:
        super().__init__(parent)
        self._library_dir = library_dir
        self._state = ConversionState.IDLE
        self._queue: deque[ConversionJob] = deque()
        self._current: ConversionJob | None = None
        self._job_ids = itertools.count(1)
        self._link = WorkerLink(service, self)
        self._link.event_received.connect(self._on_link_event_received)

    @property
    def state(self) -> ConversionState:
        """The state last told by `state_changed`."""
        return self._state

    @property
    def current_job(self) -> ConversionJob | None:
        """The job being planned or converted; None in IDLE."""
        return self._current

    @property
    def queue(self) -> tuple[ConversionJob, ...]:
        """The jobs that wait."""
        return tuple(self._queue)

    @property
    def is_worker_running(self) -> bool:
        """Whether the worker process lives; its memory is given back soon after the last job."""
        return self._link.is_running

    def enqueue(
        self,
        sources: Sequence[Path],
        *,
        grid: str = "auto",
        group_size: int = 128,
        tokenizer_dir: Path | None = None,
        overwrite: bool = False,
        start: bool = True,
    ) -> None:
        """Queues dropped files or folders; `start` False: each waits in PLANNED for `start()`."""
        for source in sources:
            self._queue.append(
                ConversionJob(
                    job_id=next(self._job_ids),
                    source=source,
                    output=self._library_dir / create_output_name(source),
                    grid=grid,
                    group_size=group_size,
                    tokenizer_dir=tokenizer_dir,
                    overwrite=overwrite,
                    starts_at_once=start,
                )
            )
        self.queue_changed.emit(self.queue)
        if self._current is None:
            self._start_next()

    def start(self) -> None:
        """Converts the job that waits in PLANNED; no effect in another state."""
        if self._current is not None and self._state is ConversionState.PLANNED:
            self._current = replace(self._current, starts_at_once=True)
            self._set_state(ConversionState.CONVERTING)
            self._link.send(_create_command(self._current))

    def replan(self, *, grid: str, group_size: int = 128) -> None:
        """Plans the job that waits in PLANNED again, with another grid; answered by `planned`."""
        if self._current is not None and self._state is ConversionState.PLANNED:
            self._current = replace(self._current, grid=grid, group_size=group_size)
            self._set_state(ConversionState.PLANNING)
            self._link.send(_create_command(self._current))

    def cancel(self) -> None:
        """Cancels the current job; the queue goes on."""
        if self._state is ConversionState.PLANNED:
            self.cancelled.emit()
            self._start_next()
        elif self._state in (ConversionState.PLANNING, ConversionState.CONVERTING):
            self._set_state(ConversionState.CANCELLING)
            self._link.send(CancelJob())

    def clear_queue(self) -> None:
        """Forgets the jobs that wait."""
        self._queue.clear()
        self.queue_changed.emit(())

    def shutdown(self) -> None:
        """Cancels, ends the worker process and waits; call once before the application quits."""
        self._queue.clear()
        self._link.shutdown()

    def _start_next(self) -> None:
        self._current = None
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
            message = f"{job.output.name} is in the library already."
            self.failed.emit(ErrorInfo.from_exception(OutputExistsError(message)))
            self._current = None
            return
        self._set_state(ConversionState.PLANNING)
        self._link.send(_create_command(job))

    def _set_state(self, state: ConversionState) -> None:
        if state is not self._state:
            self._state = state
            self.state_changed.emit(state)

    @Slot(object)
    def _on_link_event_received(self, event: Event) -> None:
        if self._current is None:
            return
        match event:
            case ConversionPlanned():
                self._receive_plan(event.plan, self._current)
            case ConversionProgressed():
                self.progressed.emit(event)
            case ConversionFinished():
                self.finished.emit(event.report)
                self._start_next()
            case JobFailed():
                self._fail(event.error)
            case JobCancelled():
                self.cancelled.emit()
                self._start_next()
            case WorkerDied():
                self._fail(_describe_death(event))

    def _receive_plan(self, plan: ConversionPlan, job: ConversionJob) -> None:
        is_cancelling = self._state is ConversionState.CANCELLING
        if is_cancelling and not job.starts_at_once:
            self.cancelled.emit()  # the plan was this job's last event
            self._start_next()
            return
        self.planned.emit(plan)
        if not is_cancelling:
            is_started = job.starts_at_once
            self._set_state(ConversionState.CONVERTING if is_started else ConversionState.PLANNED)

    def _fail(self, error: ErrorInfo) -> None:
        self.failed.emit(error)
        self._start_next()


def create_output_name(source: Path) -> str:
    """The folder in the library: the file's name without its ending, or the folder's name."""
    return source.stem if source.suffix.lower() == ".gguf" else source.name


def _create_command(job: ConversionJob) -> Command:
    if job.starts_at_once:
        return ConvertSource(
            source=job.source,
            output=job.output,
            grid=job.grid,
            group_size=job.group_size,
            tokenizer_dir=job.tokenizer_dir,
            overwrite=job.overwrite,
        )
    return PlanConversion(job.source, job.output, job.grid, job.group_size, job.tokenizer_dir)


def _describe_death(event: WorkerDied) -> ErrorInfo:
    message = (
        "The conversion process ended unexpectedly, perhaps because memory ran out; "
        "nothing was added to the library."
    )
    return ErrorInfo.from_exception(WorkerError(message, detail=f"exit code {event.exit_code}"))
