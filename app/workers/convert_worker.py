"""Conversion in a child process: one job at a time, cancelled between two blocks of rows."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial

from app.converter.pipeline import convert
from app.converter.plan import plan_conversion
from app.converter.sources.detect import open_source
from app.core.errors import AppError, JobCancelledError
from app.core.events import (
    ConversionFinished,
    ConversionPlanned,
    ErrorInfo,
    Event,
    JobCancelled,
    JobFailed,
)
from app.core.jobs import CancelToken, cancellable_by
from app.workers.child import Listener
from app.workers.commands import CancelJob, Command, ConvertSource, PlanConversion

_logger = logging.getLogger(__name__)

Job = Callable[[CancelToken], Event]


class ConvertService:
    """Runs jobs on a thread of its own, so that a cancel is heard meanwhile; later jobs wait."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="conversion")
        self._cancel = CancelToken()

    def handle(self, command: Command) -> None:
        """Begins a job, or cancels the one begun last."""
        match command:
            case ConvertSource():
                self._begin(partial(self._convert, command))
            case PlanConversion():
                self._begin(partial(_plan, command))
            case CancelJob():
                self._cancel.cancel()
            case _:
                raise TypeError(f"{command} is no command for a conversion.")

    def close(self) -> None:
        """Cancels and waits until nothing is left behind."""
        self._cancel.cancel()
        self._thread.shutdown()

    def _begin(self, job: Job) -> None:
        self._cancel = CancelToken()
        self._thread.submit(self._run, job, self._cancel)

    def _run(self, job: Job, cancel: CancelToken) -> None:
        self._listener(_last_event(job, cancel))

    def _convert(self, command: ConvertSource, cancel: CancelToken) -> Event:
        report = convert(
            command.source,
            command.output,
            grid=command.grid,
            group_size=command.group_size,
            tokenizer_dir=command.tokenizer_dir,
            overwrite=command.overwrite,
            vram_budget=command.vram_budget,
            allow_lossy=command.allow_lossy,
            evaluate=command.evaluate,
            compare=command.compare,
            listener=self._listener,
            cancel=cancel,
        )
        return ConversionFinished(report)


def create_service(listener: Listener) -> ConvertService:
    """Conversion, without a job."""
    return ConvertService(listener)


def _plan(command: PlanConversion, cancel: CancelToken) -> Event:
    with (
        cancellable_by(cancel),
        closing(open_source(command.source, tokenizer_dir=command.tokenizer_dir)) as source,
    ):
        plan = plan_conversion(
            source, command.output, command.grid, command.group_size, command.vram_budget
        )
    cancel.check()
    return ConversionPlanned(plan)


def _last_event(job: Job, cancel: CancelToken) -> Event:
    try:
        return job(cancel)
    except JobCancelledError:
        return JobCancelled()
    except AppError as error:
        _logger.info("The job was refused: %s %s", error.message, error.detail)
        return JobFailed(ErrorInfo.from_exception(error))
    except Exception as error:  # a fault of ours: the queue must go on, the log says where
        _logger.exception("The job failed.")
        return JobFailed(ErrorInfo.from_exception(error))
