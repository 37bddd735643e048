"""Jobs of a worker process, one after another on a thread of their own, each with a last event."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from app.core.errors import AppError, JobCancelledError
from app.core.events import ErrorInfo, Event, JobCancelled, JobFailed
from app.workers.child import Listener

_logger = logging.getLogger(__name__)


class JobThread:
    """So that the thread that serves the pipe hears a cancel meanwhile; later jobs wait."""

    def __init__(self, listener: Listener, name: str) -> None:
        self._listener = listener
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)

    def begin(self, job: Callable[[], Event | None]) -> None:
        """Queues a job. Its last event is what it returns (None: it has told it already), or
        JobCancelled or JobFailed.
        """
        self._pool.submit(self._run, job)

    def run_later(self, function: Callable[[], None]) -> None:
        """Queues what tells nothing."""
        self._pool.submit(function)

    def close(self) -> None:
        """Waits for all that is queued."""
        self._pool.shutdown()

    def _run(self, job: Callable[[], Event | None]) -> None:
        event = _last_event(job)
        if event is not None:
            self._listener(event)


def _last_event(job: Callable[[], Event | None]) -> Event | None:
    try:
        return job()
    except JobCancelledError:
        return JobCancelled()
    except AppError as error:
        _logger.info("The job was refused: %s %s", error.message, error.detail)
        return JobFailed(ErrorInfo.from_exception(error))
    except Exception as error:  # a fault of ours: the queue must go on, the log says where
        _logger.exception("The job failed.")
        return JobFailed(ErrorInfo.from_exception(error))
