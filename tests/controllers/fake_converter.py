"""A converter without files, for the controller's tests: what it does is the source's name.

`slow` goes on until cancelled, `bad` is refused, `die` ends the process; anything else succeeds.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from app.core.errors import InvalidSourceError
from app.core.events import (
    ConversionFinished,
    ConversionPlan,
    ConversionPlanned,
    ConversionProgressed,
    ConversionReport,
    ErrorInfo,
    JobCancelled,
    JobFailed,
)
from app.workers.child import Listener
from app.workers.commands import CancelJob, Command, ConvertSource, PlanConversion


class FakeConverter:
    def __init__(self, listener: Listener) -> None:
        self._post = listener
        self._cancelled = threading.Event()
        self._threads: list[threading.Thread] = []

    def handle(self, command: Command) -> None:
        match command:
            case PlanConversion():
                self._plan(command.source, command.output, command.grid)
            case ConvertSource():
                self._cancelled.clear()
                self._threads.append(threading.Thread(target=self._convert, args=(command,)))
                self._threads[-1].start()
            case CancelJob():
                self._cancelled.set()

    def close(self) -> None:
        self._cancelled.set()
        for thread in self._threads:
            thread.join()

    def _plan(self, source: Path, output: Path, grid: str) -> None:
        plan = ConversionPlan(
            source, output, "fake", "LlamaForCausalLM", source.stem, grid, 2, 100, (), 1, 1
        )
        self._post(ConversionPlanned(plan))

    def _convert(self, command: ConvertSource) -> None:
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
            self._cancelled.wait()
        if self._cancelled.is_set():
            self._post(JobCancelled())
            return
        self._post(ConversionFinished(create_report(command.output)))


def create_report(output: Path) -> ConversionReport:
    return ConversionReport(
        output, "fake", "LlamaForCausalLM", True, 1, 0, 0, 0, 0.0, 1, 5_000_000_000, 0.1, 1
    )


def create_service(listener: Listener) -> FakeConverter:
    return FakeConverter(listener)
