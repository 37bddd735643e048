"""Jobs of a worker process, one after another on a thread of their own, each with a last event."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from app.core.boundary import Guard
from app.core.errors import JobCancelledError
from app.core.events import ErrorInfo, Event, JobCancelled, JobFailed
from app.workers.child import Listener


class JobThread:
    """So that the thread that serves the pipe hears a cancel meanwhile; later jobs wait."""

    def __init__(self, listener: Listener, name: str) -> None:
        self._listener = listener
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)

    def begin(
        self,
        job: Callable[[], Event | None],
        failed: Callable[[ErrorInfo], Event] = JobFailed,
    ) -> None:
        """Queues a job. Its last event is what it returns (None: it has told it already),
        JobCancelled, or `failed`.
        """
        self._pool.submit(self._run, job, failed)

    def run_later(self, function: Callable[[], None]) -> None:
        """Queues what tells nothing."""
        self._pool.submit(_run_alone, function)

    def close(self) -> None:
        """Waits for all that is queued."""
        self._pool.shutdown()

    def _run(self, job: Callable[[], Event | None], failed: Callable[[ErrorInfo], Event]) -> None:
        def tell(error: Exception) -> None:
            is_cancelled = isinstance(error, JobCancelledError)
            self._listener(
                JobCancelled() if is_cancelled else failed(ErrorInfo.from_exception(error))
            )

        with Guard("The job has no result", tell):
            event = job()
            if event is not None:
                self._listener(event)


def _run_alone(function: Callable[[], None]) -> None:
    with Guard(f"{function} failed"):
        function()
