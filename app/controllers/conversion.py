"""Dropped sources become checkpoints: a queue in the window, the work in one worker process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from PySide6.QtCore import QObject, Signal


class ConversionState(StrEnum):
    """What the controller is doing; buttons bind to it."""

    IDLE = "idle"
    PLANNING = "planning"
    PLANNED = "planned"
    CONVERTING = "converting"
    CANCELLING = "cancelling"


@dataclass(frozen=True, slots=True)
class ConversionJob:
    """One source in the queue and how it shall be converted. `output` is the folder that will
    appear.
    """

    job_id: int
    source: Path
    output: Path
    grid: str = "auto"
    group_size: int = 128
    tokenizer_dir: Path | None = None
    overwrite: bool = False


class ConversionController(QObject):
    """Converts the queued sources one after another.

    Every job that reaches the worker ends in exactly one of `finished`, `failed`, `cancelled`.

    Signals (all on the GUI thread):
        state_changed(ConversionState)
        queue_changed(tuple[ConversionJob, ...]): the jobs that wait, without the current one.
        job_started(ConversionJob): the job left the queue; what follows is about it.
        planned(ConversionPlan): what will be done.
        progressed(ConversionProgressed)
        finished(ConversionReport): the checkpoint is in `report.output`.
        failed(ErrorInfo): refused, failed, or the worker process died.
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

    def __init__(self, library_dir: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        raise NotImplementedError

    @property
    def state(self) -> ConversionState:
        """The state last told by `state_changed`."""
        raise NotImplementedError

    @property
    def current_job(self) -> ConversionJob | None:
        """The job being planned or converted; None in IDLE."""
        raise NotImplementedError

    @property
    def queue(self) -> tuple[ConversionJob, ...]:
        """The jobs that wait."""
        raise NotImplementedError

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
        """Queues dropped files or folders; with `start` False each waits in PLANNED for `start()`.
        """
        raise NotImplementedError

    def start(self) -> None:
        """Converts the job that waits in PLANNED; no effect in another state."""
        raise NotImplementedError

    def replan(self, *, grid: str, group_size: int = 128) -> None:
        """Plans the job that waits in PLANNED again, with another grid; answered by `planned`."""
        raise NotImplementedError

    def cancel(self) -> None:
        """Cancels the current job; the queue goes on."""
        raise NotImplementedError

    def clear_queue(self) -> None:
        """Forgets the jobs that wait."""
        raise NotImplementedError

    def shutdown(self) -> None:
        """Cancels, ends the worker process and waits for both; call once before the application
        quits.
        """
        raise NotImplementedError
