"""Opens and closes the port, from any thread; the server itself runs on a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable

import uvicorn

from app.core.boundary import Guard
from app.core.errors import AppError, EngineError, PortBusyError
from app.core.events import ErrorInfo, Event
from app.core.server_events import ServerFailed, ServerStarted, ServerStopped
from app.engine.host import EngineHost
from app.server.app import create_app
from app.server.listening_socket import open_listening_socket
from app.server.options import ServerOptions
from app.server.protocol import create_protocol_class
from app.server.register import Register
from app.server.service import Service

_logger = logging.getLogger(__name__)

_KEEP_ALIVE_S = 75  # an idle connection; clients close theirs earlier
_GRACE_S = 1  # for replies to end, and their last bytes to be read, when the port is closed
_JOIN_S = 5.0
_ASK_AGAIN_S = 0.05
_WILDCARDS = ("0.0.0.0", "::")


class ServerRunner:
    """The port of one engine. Start and stop may alternate; each is done when it returns.

    `listener` hears the events of `app.core.server_events`, those of requests on the server's
    thread and in order; it must be quick and not raise. A server that ends without having been
    asked to is told as ServerFailed, and leaves the port closed.
    """

    def __init__(
        self,
        host: EngineHost,
        options: ServerOptions,
        listener: Callable[[Event], None] | None = None,
    ) -> None:
        self._host = host
        self._options = options
        self._listener = listener
        self._lock = threading.Lock()
        self._service: Service | None = None
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None
        self._port = 0

    @property
    def base_url(self) -> str:
        """What clients are given; '' while the port is closed."""
        return _base_url(self._options.host, self._port) if self._server else ""

    def start(self) -> str:
        """Opens the port and returns the base URL; tells ServerStarted or ServerFailed.

        Raises UsageError for options that must not be, PortBusyError with a free port where the
        port is taken or reserved, EngineError when the server does not come up.
        """
        with self._lock:
            if self._server is None:
                try:
                    self._start()
                except AppError as error:
                    free_port = error.free_port if isinstance(error, PortBusyError) else None
                    self._tell(ServerFailed(ErrorInfo.from_exception(error), free_port))
                    raise
            return self.base_url

    def stop(self) -> None:
        """Cancels what runs, closes the port and waits, about a second at most; may be repeated."""
        with self._lock:
            if self._server is None or self._thread is None:
                return
            if self._service is not None:
                self._service.is_stopping = True
                self._service.register.cancel_all()
            self._server.ask_to_end()
            self._thread.join(_JOIN_S)
            self._server = self._service = self._thread = None
        self._tell(ServerStopped())

    def cancel(self, request_id: str) -> None:
        """Ends one request, by the id of its events."""
        service = self._service
        if service is not None:
            service.register.cancel(request_id)

    def _start(self) -> None:
        self._options.check()
        listener = open_listening_socket(self._options.host, self._options.port)
        self._port = listener.getsockname()[1]
        register = Register(self._options.max_requests, self._listener)
        self._service = Service(self._host, self._options, register)
        self._server = _create_server(self._service)
        self._thread = threading.Thread(
            target=self._serve, args=(self._server, listener), name="server", daemon=True
        )
        self._thread.start()
        self._server.settled.wait()
        if not self._server.started:
            self._server = self._service = self._thread = None
            raise EngineError("The server did not start; the log has the reason.")
        self._tell(ServerStarted(self.base_url, self._options.host, self._port))

    def _serve(self, server: _Server, listener: socket.socket) -> None:
        """The thread's work."""
        server.serve_on(listener)
        if self._forget(server):
            error = EngineError("The server ended by itself; the log has the reason.")
            self._tell(ServerFailed(ErrorInfo.from_exception(error)))

    def _forget(self, server: _Server) -> bool:
        """Leaves the port closed; False where the end was asked for, or `start` tells of it."""
        while not self._lock.acquire(timeout=_ASK_AGAIN_S):  # `stop` waits for this very thread
            if server.is_asked_to_end:
                return False
        try:
            if server is not self._server or self._service is None:
                return False
            self._service.register.cancel_all()
            self._server = self._service = self._thread = None
            return True
        finally:
            self._lock.release()

    def _tell(self, event: Event) -> None:
        if self._listener is not None:
            self._listener(event)


class _Server(uvicorn.Server):
    """`settled` is set when it serves, and when it never will."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.settled = threading.Event()
        self.is_asked_to_end = False

    def ask_to_end(self) -> None:
        """From any thread; takes about a second."""
        self.is_asked_to_end = self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.settled.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Behind uvicorn's, which leaves connections open whose clients take longer than is
        waited for: theirs would last until the garbage collector comes by."""
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await asyncio.sleep(0.01)  # for the loop to close them

    def serve_on(self, listener: socket.socket) -> None:
        """Until it ends; signals stay with the main thread."""
        try:
            with Guard("The server ended"):  # nobody waits for this thread's exception
                self.run([listener])
        except SystemExit as end:
            _logger.error("uvicorn gave up with exit code %s.", end.code)
        finally:
            listener.close()
            self.settled.set()


def _create_server(service: Service) -> _Server:
    options = service.options
    config = uvicorn.Config(
        create_app(service),
        http=create_protocol_class(options.header_timeout_s),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=options.max_header_bytes,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_GRACE_S,
    )
    return _Server(config)


def _base_url(host: str, port: int) -> str:
    """Where every address is listened on, other machines know theirs; this one is told its own."""
    name = "127.0.0.1" if host in _WILDCARDS else host.strip("[]")
    return f"http://{f'[{name}]' if ':' in name else name}:{port}/v1"
