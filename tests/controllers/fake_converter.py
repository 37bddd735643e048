"""A converter without files, for the controller's tests: what it does is the source's name.

`slow` goes on until cancelled, `bad` is refused, `die` ends the process, `kept` was interrupted
before; anything else succeeds. A budget of 1 byte cannot be met; one of 2 is measured until
cancelled.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from app.core.conversion_events import (
    ConversionFinished,
    ConversionPlan,
    ConversionPlanned,
    ConversionProgressed,
    ConversionReport,
    EvaluationFinished,
    EvaluationProgressed,
    GridEvaluation,
    MeasuringProgressed,
)
from app.core.errors import InvalidSourceError, ResourceError
from app.core.events import ErrorInfo, JobCancelled, JobFailed
from app.workers.child import Listener
from app.workers.commands import (
    CancelJob,
    Command,
    ConvertSource,
    DiscardParts,
    EvaluateCheckpoint,
    PlanConversion,
)


class FakeConverter:
    def __init__(self, listener: Listener) -> None:
        self._post = listener
        self._cancelled = threading.Event()
        self._threads: list[threading.Thread] = []

    def handle(self, command: Command) -> None:
        match command:
            case PlanConversion():
                self._begin(self._answer_plan, command)
            case ConvertSource():
                self._begin(self._convert, command)
            case EvaluateCheckpoint():
                self._begin(self._evaluate, command)
            case CancelJob():
                self._cancelled.set()
            case DiscardParts():
                command.output.with_name("discarded").mkdir(parents=True)

    def close(self) -> None:
        self._cancelled.set()
        for thread in self._threads:
            thread.join()

    def _begin(self, job: Callable[..., None], command: Command) -> None:
        """After the one before, like the real service; each job has a flag of its own."""
        before = self._threads[-1] if self._threads else None
        self._cancelled = cancelled = threading.Event()

        def run() -> None:
            if before is not None:
                before.join()
            job(command, cancelled)

        self._threads.append(threading.Thread(target=run))
        self._threads[-1].start()

    def _answer_plan(self, command: PlanConversion, cancelled: threading.Event) -> None:
        if command.vram_budget == 1:
            error = ResourceError("The budget of 1 bytes cannot be met.")
            self._post(JobFailed(ErrorInfo.from_exception(error)))
            return
        if command.vram_budget == 2:
            self._post(MeasuringProgressed(1, 2))
            cancelled.wait()
            self._post(JobCancelled())
            return
        is_kept = command.source.stem == "kept" and command.resume
        self._plan(command.source, command.output, "w3" if is_kept else command.grid, 7 * is_kept)

    def _plan(self, source: Path, output: Path, grid: str, num_kept_parts: int = 0) -> None:
        plan = ConversionPlan(
            source, output, "fake", "LlamaForCausalLM", source.stem, grid, 2, 100, (), 1, 1
        )
        self._post(ConversionPlanned(replace(plan, num_kept_parts=num_kept_parts)))

    def _evaluate(self, command: EvaluateCheckpoint, cancelled: threading.Event) -> None:
        self._post(EvaluationProgressed("this", 1, 2))
        if command.source.stem == "slow":
            cancelled.wait()
            self._post(JobCancelled())
        elif command.source.stem == "bad":
            error = InvalidSourceError("bad.gguf is gone.")
            self._post(JobFailed(ErrorInfo.from_exception(error)))
        else:
            self._post(EvaluationFinished(tuple(map(create_row, ("this", *command.compare)))))

    def _convert(self, command: ConvertSource, cancelled: threading.Event) -> None:
        name = command.source.stem
        if name == "bad":
            error = ErrorInfo.from_exception(InvalidSourceError("bad.gguf is damaged."))
            self._post(JobFailed(error))
            return
        self._plan(command.source, command.output, command.grid)
        self._post(ConversionProgressed("layer 0", 1, 3, 5_000_000_000, 9_000_000_000, 0.1))
        if name == "die":
            os._exit(9)
        if name == "slow":
            cancelled.wait()
        if cancelled.is_set():
            self._post(JobCancelled())
            return
        self._post(ConversionFinished(create_report(command.output)))


def create_report(output: Path) -> ConversionReport:
    return ConversionReport(
        output, "fake", "LlamaForCausalLM", True, 1, 0, 0, 0, 0.0, 1, 5_000_000_000, 0.1, 1
    )


def create_row(grid: str) -> GridEvaluation:
    return GridEvaluation(grid, 1, 0.0, 2, 3.0, 0.0, 0.0, 1.0, True)


def create_service(listener: Listener) -> FakeConverter:
    return FakeConverter(listener)
