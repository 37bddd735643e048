"""Jobs on a few threads: the first one that fails stops all."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import Generic, TypeVar

from app.core.boundary import Guard
from app.core.cleanup import undone_on_failure
from app.core.errors import JobCancelledError
from app.core.jobs import CancelToken, also_cancellable_by

T = TypeVar("T")

# Whoever interrupts a program does not wait for a socket that is silent.
_GRACE_S = 1.0


def run_all(jobs: Sequence[Callable[[], T]], num_threads: int, name: str) -> list[T]:
    """The results in the order of the jobs. Raises what the first job that failed raised, when
    all threads have ended; an interrupt (Ctrl+C) does not wait for them."""
    crew = _Crew(jobs)
    threads = [
        # Daemons: what they write is safe at any moment, so nobody waits for them at the exit.
        threading.Thread(target=copy_context().run, args=(crew.work,), name=name, daemon=True)
        for _ in range(min(num_threads, len(jobs)))
    ]
    for thread in threads:
        thread.start()

    def give_up() -> None:
        crew.cancel.cancel()
        for thread in threads:
            thread.join(_GRACE_S)

    with undone_on_failure(give_up):
        for thread in threads:
            thread.join()
    if crew.errors:
        raise _first(crew.errors)
    return [crew.results[index] for index in range(len(jobs))]


def _first(errors: Sequence[Exception]) -> Exception:
    """The others were only told to stop."""
    causes = [error for error in errors if not isinstance(error, JobCancelledError)]
    return causes[0] if causes else errors[0]


class _Crew(Generic[T]):
    def __init__(self, jobs: Sequence[Callable[[], T]]) -> None:
        self.cancel = CancelToken()
        self.results: dict[int, T] = {}
        self.errors: list[Exception] = []
        self._waiting = deque(enumerate(jobs))

    def work(self) -> None:
        with also_cancellable_by(self.cancel):
            while self._waiting and not self.cancel.is_cancelled:
                try:
                    index, job = self._waiting.popleft()
                except IndexError:  # another thread was faster
                    return
                self._do(index, job)

    def _do(self, index: int, job: Callable[[], T]) -> None:
        with Guard(f"A job of {threading.current_thread().name} failed", self._fail):
            self.results[index] = job()

    def _fail(self, error: Exception) -> None:
        """Raised again by the thread that waits."""
        self.errors.append(error)
        self.cancel.cancel()
