"""The child's side of a worker process: serve commands from the pipe, send events and signs of
life.
"""

from __future__ import annotations

import contextlib
import faulthandler
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Protocol, cast

from app.core.events import Event, WorkerStarted
from app.core.log import configure_logging
from app.core.paths import worker_log_path, worker_stderr_path
from app.workers.commands import Command, Shutdown

_logger = logging.getLogger(__name__)

HEARTBEAT_INTERVAL_S = 1.0
_ORPHAN_GRACE_S = 10.0
_MAX_STDERR_BYTES = 1_000_000

Listener = Callable[[Event], None]


class Service(Protocol):
    """What runs in the child. `handle` returns at once: it is the thread that hears the parent
    die.
    """

    def handle(self, command: Command) -> None:
        """Begins what was asked; answers come as events."""

    def close(self) -> None:
        """Stops whatever runs and waits for it."""


@dataclass(frozen=True, slots=True)
class Heartbeat(Event):
    """A sign of life; never leaves `app.workers`."""


def run_child(connection: Connection, name: str, factory: str) -> None:
    """The child's main function: `factory` is `module:function`, called with the listener for
    events.
    """
    # Ctrl+C in a terminal reaches the whole group; whether to end is the parent's decision.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _redirect_output(name)
    channel = _Channel(connection)
    threading.Thread(target=channel.beat, name="heartbeat", daemon=True).start()
    service = _create_service(factory, channel.post)
    channel.post(WorkerStarted(os.getpid()))
    try:
        _serve(connection, service)
    finally:
        service.close()


class _Channel:
    """The sending half of the pipe, for any thread. When nobody reads any more, events are
    dropped.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._is_broken = threading.Event()

    def post(self, event: Event) -> None:
        with self._lock:
            try:
                self._connection.send(event)
            except OSError:
                self._is_broken.set()

    def beat(self) -> None:
        while not self._is_broken.wait(HEARTBEAT_INTERVAL_S):
            self.post(Heartbeat())


def _create_service(factory: str, listener: Listener) -> Service:
    module, _, function = factory.partition(":")
    return cast(Service, getattr(import_module(module), function)(listener))


def _serve(connection: Connection, service: Service) -> None:
    while True:
        try:
            command = connection.recv()
        except (EOFError, OSError):
            _logger.warning("The parent process is gone.")
            _exit_within(_ORPHAN_GRACE_S)
            return
        if isinstance(command, Shutdown):
            return
        service.handle(command)


def _exit_within(seconds: float) -> None:
    """Nobody is left to kill a child that hangs while it closes."""
    timer = threading.Timer(seconds, os._exit, (1,))
    timer.daemon = True
    timer.start()


def _redirect_output(name: str) -> None:
    """Log and stderr go to files of this worker: a windowed program has no terminal, a crash no
    handler.
    """
    configure_logging(worker_log_path(name))
    with contextlib.suppress(OSError):
        _redirect_stderr(worker_stderr_path(name))


def _redirect_stderr(path: Path) -> None:
    is_full = path.exists() and path.stat().st_size > _MAX_STDERR_BYTES
    stream = path.open("w" if is_full else "a", buffering=1, encoding="utf-8", errors="replace")
    os.dup2(stream.fileno(), 2)  # what native code writes while it dies
    sys.stdout = sys.stderr = stream
    faulthandler.enable(stream)
