"""Conversion in a child process: one job at a time, cancelled between two blocks of rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from app.converter.pipeline import convert, evaluate_checkpoint, plan_conversion
from app.converter.plan import Options
from app.converter.workdir import WorkDir
from app.core.conversion_events import ConversionFinished, ConversionPlanned, EvaluationFinished
from app.core.events import Event
from app.core.jobs import CancelToken
from app.workers.child import Listener
from app.workers.commands import (
    CancelJob,
    Command,
    ConvertSource,
    DiscardParts,
    EvaluateCheckpoint,
    PlanConversion,
)
from app.workers.job_thread import JobThread
from app.workers.priority import step_back


class _JobCancel(CancelToken):
    """Also says what shall become of the parts that are done."""

    keeps_parts = False


Job = Callable[[_JobCancel], Event]


class ConvertService:
    """One job after another."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._jobs = JobThread(listener, "conversion")
        self._cancel = _JobCancel()

    def handle(self, command: Command) -> None:
        """Begins a job, or cancels the one begun last."""
        match command:
            case ConvertSource():
                self._begin(partial(self._convert, command))
            case PlanConversion():
                self._begin(partial(self._plan, command))
            case EvaluateCheckpoint():
                self._begin(partial(self._evaluate, command))
            case DiscardParts():
                self._jobs.run_later(WorkDir(command.output).discard)
            case CancelJob():
                self._cancel.keeps_parts = command.keeps_parts
                self._cancel.cancel()
            case _:
                raise TypeError(f"{command} is no command for a conversion.")

    def close(self) -> None:
        """Cancels and waits; what is converted stays to be resumed."""
        self._cancel.keeps_parts = True
        self._cancel.cancel()
        self._jobs.close()

    def _begin(self, job: Job) -> None:
        self._cancel = _JobCancel()
        self._jobs.begin(partial(job, self._cancel))

    def _convert(self, command: ConvertSource, cancel: _JobCancel) -> Event:
        """The pipeline keeps the parts of every failure (`resume`); here it is decided."""
        work = WorkDir(command.output)
        if not command.resume:
            work.discard()
        try:
            report = convert(
                command.source,
                command.output,
                grid=command.grid,
                group_size=command.group_size,
                tokenizer_dir=command.tokenizer_dir,
                resume=True,
                overwrite=command.overwrite,
                vram_budget=command.vram_budget,
                allow_lossy=command.allow_lossy,
                evaluate=command.evaluate,
                compare=command.compare,
                listener=self._listener,
                cancel=cancel,
            )
        finally:
            if not cancel.keeps_parts:
                work.discard()
        return ConversionFinished(report)

    def _plan(self, command: PlanConversion, cancel: _JobCancel) -> Event:
        plan = plan_conversion(
            command.source,
            command.output,
            Options(command.grid, command.group_size, command.vram_budget),
            tokenizer_dir=command.tokenizer_dir,
            resume=command.resume,
            listener=self._listener,
            cancel=cancel,
        )
        return ConversionPlanned(plan)

    def _evaluate(self, command: EvaluateCheckpoint, cancel: _JobCancel) -> Event:
        rows = evaluate_checkpoint(
            command.source,
            command.checkpoint,
            compare=command.compare,
            group_size=command.group_size,
            tokenizer_dir=command.tokenizer_dir,
            listener=self._listener,
            cancel=cancel,
        )
        return EvaluationFinished(rows)


def create_service(listener: Listener) -> ConvertService:
    """Conversion, without a job."""
    step_back()
    return ConvertService(listener)
