"""Makes requests ready on a thread beside the engine's: templates, encoding, grammars.

Replies that run meanwhile do not wait for a long prompt, nor for the first grammar.
"""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count

from app.core.boundary import Guard
from app.core.errors import EngineError
from app.core.events import ErrorInfo, PromptMeasured
from app.engine.command_queue import CommandQueue
from app.engine.engine import Engine
from app.engine.request import Request
from app.engine.sequence_factory import PreparedRequest

_LAST = -sys.maxsize
_MEASURE_PRIORITY = sys.maxsize  # behind every request

Prepared = PreparedRequest | ErrorInfo


class RequestPreparer:
    """One job after the other: of all that wait the lowest priority, of equals the first.

    Outcomes go back as commands to the engine thread, which alone may ask for any.
    """

    def __init__(self, commands: CommandQueue) -> None:
        self._commands = commands
        self._order = count()
        self._jobs: queue.PriorityQueue[tuple[int, int, Callable[[], None] | None]]
        self._jobs = queue.PriorityQueue()
        self._thread = threading.Thread(target=self._run, name="prepare", daemon=True)
        self._thread.start()

    def prepare(
        self,
        engine: Engine,
        request: Request,
        submitted_s: float,
        done: Callable[[Prepared], None],
    ) -> None:
        """`done` hears what the engine can queue, or why it cannot be."""
        self._put(request.priority, partial(self._prepare, engine, request, submitted_s, done))

    def measure(
        self, engine: Engine, request: Request, done: Callable[[PromptMeasured], None]
    ) -> None:
        """`done` hears what a request would take, where it can be known."""
        self._put(_MEASURE_PRIORITY, partial(self._measure, engine, request, done))

    def close(self) -> None:
        """Waits for the job that runs; what waits is dropped. May be called twice."""
        self._put(_LAST, None)
        self._thread.join()

    def _put(self, priority: int, job: Callable[[], None] | None) -> None:
        self._jobs.put((priority, next(self._order), job))

    def _run(self) -> None:
        while (job := self._jobs.get()[2]) is not None:
            job()

    def _prepare(
        self,
        engine: Engine,
        request: Request,
        submitted_s: float,
        done: Callable[[Prepared], None],
    ) -> None:
        def refuse(error: Exception) -> None:
            self._tell(partial(done, ErrorInfo.from_exception(error)))

        # Libraries encode and compile; one request's fault is its own.
        with Guard(f"The request {request.request_id} could not be prepared", refuse):
            self._tell(partial(done, engine.prepare(request, submitted_s)))

    def _measure(
        self, engine: Engine, request: Request, done: Callable[[PromptMeasured], None]
    ) -> None:
        with Guard("A prompt could not be measured"):  # nothing depends on it
            self._tell(partial(done, engine.measure(request)))

    def _tell(self, command: Callable[[], None]) -> None:
        with suppress(EngineError):  # closed meanwhile: the request has ended with that
            self._commands.send(command)
