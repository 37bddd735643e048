"""A worker process as a QObject: commands in, its events out on the GUI thread."""

from __future__ import annotations

from contextlib import suppress

from PySide6.QtCore import QObject, Signal, Slot

from app.controllers.bridge import EventBridge
from app.controllers.threads import FunctionThread
from app.core.errors import WorkerError
from app.core.events import ErrorInfo, Event, WorkerDied, WorkerStopped
from app.workers.commands import Command
from app.workers.process import STOP_TIMEOUT_S, WorkerProcess


class WorkerLink(QObject):
    """Starts the process with its first command; a QThread supervises it. Nothing here waits.

    Signals:
        event_received(Event): in order; WorkerStopped or WorkerDied ends what was started. After
            `end` nothing else comes of that process.
    """

    event_received = Signal(object)

    def __init__(self, service: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._bridge = EventBridge(self)
        self._bridge.received.connect(self._on_bridge_received)
        self._process = WorkerProcess(service, self._bridge.post, create_thread=FunctionThread)
        # As told by the events heard here, which lag behind the process itself.
        self._is_running = False
        self._is_ending = False
        self._waiting: list[Command] = []

    @property
    def is_running(self) -> bool:
        """Whether a process was started whose end was not heard yet."""
        return self._is_running

    @property
    def is_fresh(self) -> bool:
        """Whether the next command goes to a process that has heard none: it has no memory."""
        return not self._is_running or (self._is_ending and not self._waiting)

    @property
    def pid(self) -> int | None:
        """The process id of the worker; None when there is none."""
        return self._process.pid

    def send(self, command: Command) -> None:
        """Sends to the process, starting it if need be; to the next one when this one is ending."""
        if self._is_ending:
            self._waiting.append(command)
            return
        if not self._is_running:
            self._is_running = True
            self._process.start()
        with suppress(WorkerError):  # it has just died: WorkerDied is on its way to us
            self._process.send(command)

    def end(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Asks the process to end, which is killed after `timeout_s`; answered by WorkerStopped."""
        if self._is_running and not self._is_ending:
            self._is_ending = True
            self._process.request_stop(timeout_s)

    def shutdown(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Ends the process, which is killed after `timeout_s`, and waits; no event is heard any
        more.
        """
        self._bridge.received.disconnect(self._on_bridge_received)
        self._is_ending = True  # what is sent from now on reaches nobody
        self._process.stop(timeout_s)

    @Slot(object)
    def _on_bridge_received(self, event: Event) -> None:
        if isinstance(event, WorkerDied | WorkerStopped):
            self._receive_end(event)
        elif not self._is_ending:
            self.event_received.emit(event)

    def _receive_end(self, event: Event) -> None:
        self._is_running = self._is_ending = False
        waiting, self._waiting = self._waiting, []
        self.event_received.emit(event)
        for command in waiting:
            self.send(command)


def describe_death(event: WorkerDied, message: str) -> ErrorInfo:
    """The end of a process as an error, in the words of who needed it."""
    return ErrorInfo.from_exception(WorkerError(message, detail=f"exit code {event.exit_code}"))
