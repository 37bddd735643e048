"""A headless service in a child process: spawn, pipe, signs of life, stop, kill, restart. Qt-
free.
"""

from __future__ import annotations

import atexit
import logging
import multiprocessing
import queue
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Protocol

from app.core.errors import WorkerError
from app.core.events import WorkerDied, WorkerRecovered, WorkerStopped, WorkerUnresponsive
from app.workers.child import Heartbeat, Listener, run_child
from app.workers.commands import Command, Shutdown
from app.workers.postmortem import Postmortem

_logger = logging.getLogger(__name__)

# Imported in the child alone: the parent must stay free of what these modules import.
SERVICES = {
    "engine": "app.workers.engine_worker:create_service",
    "convert": "app.workers.convert_worker:create_service",
    "download": "app.workers.download_worker:create_service",
    "hub": "app.workers.hub_worker:create_service",
    "machine": "app.workers.machine_worker:create_service",
    "library": "app.workers.library_worker:create_service",
    "validate": "app.workers.validate_worker:create_service",
}

UNRESPONSIVE_AFTER_S = 15.0
STOP_TIMEOUT_S = 5.0
_POLL_S = 0.25
_EXIT_GRACE_S = 5.0


class Thread(Protocol):
    """What `WorkerProcess` asks of the thread that supervises; `threading.Thread` is one."""

    def start(self) -> None: ...

    def join(self) -> None: ...


def create_thread(function: Callable[[], None]) -> Thread:
    """A plain thread; the window passes a QThread instead."""
    return threading.Thread(target=function, name="worker-supervisor", daemon=True)


class WorkerProcess:
    """One service in a child process, restarted at will. Methods are for one thread, the owner's.

    `service` is a key of SERVICES or `module:function`. `listener` hears the service's events and
    WorkerStarted, WorkerUnresponsive, WorkerRecovered on the supervising thread. The last event of
    every start is exactly one of WorkerStopped (asked for) and WorkerDied (not asked for).
    """

    def __init__(
        self,
        service: str,
        listener: Listener,
        *,
        unresponsive_after_s: float = UNRESPONSIVE_AFTER_S,
        create_thread: Callable[[Callable[[], None]], Thread] = create_thread,
    ) -> None:
        self._service = service
        self._listener = listener
        self._unresponsive_after_s = unresponsive_after_s
        self._create_thread = create_thread
        self._run: _Run | None = None
        self._thread: Thread | None = None

    @property
    def is_alive(self) -> bool:
        """Whether a child was started whose last event is not out yet."""
        return self._run is not None and not self._run.has_ended

    @property
    def pid(self) -> int | None:
        """The child's process id; None before it was spawned and after it ended."""
        return self._run.pid if self._run and self.is_alive else None

    def start(self) -> None:
        """Starts the child and returns at once; commands may be sent already. No effect when
        alive.
        """
        if self.is_alive:
            return
        self._join()
        self._run = _Run(self._service, self._listener, self._unresponsive_after_s)
        self._thread = self._create_thread(self._run.supervise)
        self._thread.start()

    def send(self, command: Command) -> None:
        """Queues a command, never blocks; raises WorkerError when no child runs."""
        if self._run is None or self._run.has_ended:
            raise WorkerError("The {service} process is not running.", service=self._service)
        self._run.send(command)

    def request_stop(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Asks the child to end, which is killed after `timeout_s`; returns at once."""
        if self._run is not None:
            self._run.request_stop(timeout_s)

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Asks the child to end, kills it after `timeout_s`, and waits until it is gone."""
        self.request_stop(timeout_s)
        self._join()

    def kill(self) -> None:
        """Ends the child at once; answered by WorkerDied."""
        if self._run is not None:
            self._run.kill()

    def restart(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """A fresh child; waits for the end of the old one."""
        self.stop(timeout_s)
        self.start()

    def _join(self) -> None:
        if self._thread is not None:
            self._thread.join()
            self._thread = None


class _Run:
    """The life of one child. `supervise` is the reading thread; a writing thread keeps `send` from
    blocking.
    """

    def __init__(self, service: str, listener: Listener, unresponsive_after_s: float) -> None:
        self._name = service.rpartition(":")[0].rpartition(".")[2] or service
        self._factory = SERVICES.get(service, service)
        self._listener = listener
        self._unresponsive_after_s = unresponsive_after_s
        self._commands: queue.SimpleQueue[Command | None] = queue.SimpleQueue()
        self._child: BaseProcess | None = None
        self._stop_deadline: float | None = None
        self._is_killed = False
        self._is_silent = False
        self._postmortem = Postmortem(self._name)
        self._last_sign_s = time.monotonic()
        self.has_ended = False

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child else None

    def send(self, command: Command) -> None:
        self._commands.put(command)

    def request_stop(self, timeout_s: float) -> None:
        self._stop_deadline = time.monotonic() + timeout_s
        self._commands.put(Shutdown())

    def kill(self) -> None:
        self._is_killed = True
        if self._child is not None and not self.has_ended:
            self._child.kill()

    def supervise(self) -> None:
        """Starts the child, reads until it is gone, tells its end."""
        exit_code = self._live()
        was_asked = self._stop_deadline is not None
        _logger.info("The %s process ended with exit code %s.", self._name, exit_code)
        is_crash = not was_asked and not self._is_killed
        report = self._postmortem.report(exit_code) if is_crash and exit_code is not None else None
        self.has_ended = True
        self._listener(WorkerStopped() if was_asked else WorkerDied(exit_code, report))

    def _live(self) -> int | None:
        try:
            child, connection = self._spawn()
        except OSError:
            _logger.exception("The %s process could not be started.", self._name)
            return None
        atexit.register(
            self.kill
        )  # before multiprocessing's own handler, which would wait for ever
        writer = threading.Thread(target=self._write, args=(connection,), daemon=True)
        writer.start()
        self._read(child, connection)
        exit_code = _reap(child)
        self._commands.put(None)
        writer.join()
        connection.close()
        atexit.unregister(self.kill)
        return exit_code

    def _spawn(self) -> tuple[BaseProcess, Connection]:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        child = context.Process(
            target=run_child, args=(theirs, self._name, self._factory), name=f"{self._name}-worker"
        )
        try:
            child.start()
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()  # the child's copy must be the only one, or its death is no end of file
        self._child = child
        if self._is_killed:
            child.kill()
        return child, ours

    def _write(self, connection: Connection) -> None:
        while (command := self._commands.get()) is not None:
            try:
                connection.send(command)
            except OSError:
                return  # the reading thread sees the same end

    def _read(self, child: BaseProcess, connection: Connection) -> None:
        """Until the pipe ends, or the child is gone and nothing is left in the pipe."""
        self._last_sign_s = time.monotonic()
        while True:
            ready = wait([connection, child.sentinel], _POLL_S)
            if connection in ready:
                if not self._receive(connection):
                    return
            elif ready:
                return
            else:
                self._watch_silence()
            if self._stop_deadline is not None and time.monotonic() > self._stop_deadline:
                child.kill()

    def _receive(self, connection: Connection) -> bool:
        try:
            event = connection.recv()
        except (EOFError, OSError):
            return False
        self._last_sign_s = time.monotonic()
        if self._is_silent:
            self._is_silent = False
            self._listener(WorkerRecovered())
        if not isinstance(event, Heartbeat):
            self._listener(event)
        return True

    def _watch_silence(self) -> None:
        silent_s = time.monotonic() - self._last_sign_s
        if silent_s > self._unresponsive_after_s and not self._is_silent:
            self._is_silent = True
            self._listener(WorkerUnresponsive(silent_s))


def _reap(child: BaseProcess) -> int | None:
    """Waits for a child whose pipe has ended; one that lingers is killed."""
    child.join(_EXIT_GRACE_S)
    if child.exitcode is None:
        child.kill()
        child.join()
    return child.exitcode
