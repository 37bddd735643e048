"""The port beside the engine: opened and closed on a thread of its own, as both take a moment."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from app.core.boundary import Guard
from app.core.errors import AppError
from app.core.events import ErrorInfo
from app.core.secrets import remember_secret
from app.core.server_events import ServerFailed, ServerStopped
from app.engine.host import EngineHost
from app.workers.child import Listener
from app.workers.commands import CancelServerRequest, StartServer, StopServer
from app.workers.job_thread import JobThread

if TYPE_CHECKING:
    from app.server.runner import ServerRunner

_NEAR, _EVERYWHERE = "127.0.0.1", "0.0.0.0"

ServerCommand = StartServer | StopServer | CancelServerRequest


class ServerSlot:
    """At most one port at a time. Its events go to the listener."""

    def __init__(self, host: EngineHost, listener: Listener) -> None:
        self._host = host
        self._listener = listener
        self._thread = JobThread(listener, "port")
        self._runner: ServerRunner | None = None

    def handle(self, command: ServerCommand) -> None:
        """Begins what is asked; never waits."""
        match command:
            case StartServer():
                self._thread.run_later(partial(self._start, command))
            case StopServer():
                self._thread.run_later(self._stop)
            case CancelServerRequest():
                self._cancel(command.request_id)

    def close(self) -> None:
        """Closes the port and waits."""
        self._thread.run_later(self._close)
        self._thread.close()

    def _cancel(self, request_id: str) -> None:
        runner = self._runner  # the port's thread may be closing it
        if runner is not None:
            runner.cancel(request_id)

    def _start(self, command: StartServer) -> None:
        self._close()
        # The switch must not hang between on and off.
        with Guard("The port could not be opened", self._tell_failure):
            self._open(command)

    def _tell_failure(self, error: Exception) -> None:
        self._listener(ServerFailed(ErrorInfo.from_exception(error)))

    def _open(self, command: StartServer) -> None:
        # A second to import, and only where a port is wanted.
        from app.server.options import ServerOptions
        from app.server.runner import ServerRunner

        remember_secret(command.api_key)
        address = _EVERYWHERE if command.allow_lan else _NEAR
        options = ServerOptions(address, command.port, command.api_key)
        runner = ServerRunner(self._host, options, self._listener)
        with suppress(AppError):  # told as ServerFailed
            runner.start()
            self._runner = runner

    def _stop(self) -> None:
        if self._runner is None:
            self._listener(ServerStopped())
        self._close()

    def _close(self) -> None:
        runner, self._runner = self._runner, None
        if runner is not None:
            runner.stop()
