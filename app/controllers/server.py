"""The OpenAI port for the window: on and off, its requests, and what went wrong."""

from __future__ import annotations

import secrets
import time
from enum import StrEnum

from PySide6.QtCore import QObject, Signal, Slot

from app.controllers.chat_engine import ChatEngine
from app.controllers.kept_key import KeptKey
from app.controllers.request_log import RequestLog
from app.core.errors import EngineError, UsageError
from app.core.events import EngineStateChanged, ErrorInfo, Event, WorkerDied, WorkerStopped
from app.core.keychain import Keychain, KeyPlace
from app.core.lan_address import find_lan_address
from app.core.sentence import Sentence
from app.core.server_events import (
    ServerFailed,
    ServerRequestEvent,
    ServerStarted,
    ServerStopped,
)
from app.core.settings_store import SettingsStore
from app.workers.commands import CancelServerRequest, StartServer, StopServer

KEY_NAME = "port"
_KEY_BYTES = 24
# A second death within this time is no accident: then the port stays closed.
_CALM_S = 60.0


class ServerState(StrEnum):
    """What the switch shows; settings of the port can be changed while it is OFF or FAILED."""

    OFF = "off"
    STARTING = "starting"
    ON = "on"
    STOPPING = "stopping"
    FAILED = "failed"


class ServerController(QObject):
    """The port runs beside the engine, in its process, and survives that: it is opened again.

    Signals (all on the GUI thread):
        state_changed(ServerState)
        options_changed(): the port's number, its key or who may come in.
        requests_changed(): `log` has changed; many times a second while it is busy.
        engine_lost(): the process died with the port open; it is open again, without the model
            unless the chat has another server.
        model_changed(str): the name of the model that answers at the port; '' for none.
    """

    state_changed = Signal(object)
    options_changed = Signal()
    requests_changed = Signal()
    engine_lost = Signal()
    model_changed = Signal(str)

    def __init__(
        self,
        engine: ChatEngine,
        settings: SettingsStore,
        keychain: Keychain,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._engine = engine
        self._settings = settings
        self._key: str | None = None  # None: not read yet
        self._key_place: KeyPlace | None = None
        self._waits_for_key = self._generates_key = False  # once it was looked for
        self._state = ServerState.OFF
        self._last_death_s: float | None = None
        self.log = RequestLog()
        self.base_url = ""
        self.error: ErrorInfo | None = None
        self.free_port: int | None = None
        self._kept = KeptKey(keychain, self)
        self._kept.read.connect(self._on_key_read)
        self._kept.written.connect(self._on_key_written)
        engine.local.event_received.connect(self._on_engine_event_received)

    # --- options -----------------------------------------------------------------------------

    @property
    def state(self) -> ServerState:
        """The state last told by `state_changed`."""
        return self._state

    @property
    def is_wanted(self) -> bool:
        """Whether the switch is on."""
        return self._state in (ServerState.STARTING, ServerState.ON)

    @property
    def port(self) -> int:
        """The number that is opened next, or is open."""
        return self._settings.values.server_port

    @property
    def allows_lan(self) -> bool:
        """Whether other machines may come in."""
        return self._settings.values.server_allow_lan

    @property
    def lan_url(self) -> str:
        """Where other machines find the open port; '' where they may not come in, or this machine
        is on no network.
        """
        if not self.base_url or not self.allows_lan:
            return ""
        address = find_lan_address()
        return f"http://{address}:{self.port}/v1" if address else ""

    @property
    def starts_with_program(self) -> bool:
        """Whether the port opens with the program."""
        return self._settings.values.server_autostart

    @property
    def keeps_running(self) -> bool:
        """Whether closing the window leaves the open port in the tray."""
        return self._settings.values.server_keeps_running

    @property
    def api_key(self) -> str:
        """What clients must send; '' when any key does."""
        return self._key or ""

    @property
    def key_place(self) -> KeyPlace | None:
        """Where the key that was set last is kept, or one that was to be forgotten; None before
        that is known."""
        return self._key_place

    def set_port(self, port: int) -> None:
        """From the next start on."""
        self._change(server_port=port)

    def set_allows_lan(self, allows: bool) -> None:
        """From the next start on; a key is made where there is none, as there must be one."""
        if allows and self._key == "":
            self.generate_key()
        self._generates_key = allows and self._key is None  # one that is kept stays
        self._change(server_allow_lan=allows)

    def set_starts_with_program(self, starts: bool) -> None:
        """From the next start of the program on."""
        self._settings.update(server_autostart=starts)
        self.options_changed.emit()

    def set_keeps_running(self, keeps: bool) -> None:
        """From the next closing of the window on."""
        self._settings.update(server_keeps_running=keeps)
        self.options_changed.emit()

    def set_api_key(self, key: str) -> None:
        """From the next start on; without one the port is for this machine alone."""
        if key == self.api_key:
            return
        self._key, self._key_place = key, None
        self._kept.keep(KEY_NAME, key)
        if not key and self.allows_lan:
            self._settings.update(server_allow_lan=False)
        self.options_changed.emit()

    def generate_key(self) -> None:
        """Sets a key that cannot be guessed."""
        self.set_api_key(f"sk-{secrets.token_urlsafe(_KEY_BYTES)}")

    # --- commands ----------------------------------------------------------------------------

    def prepare(self) -> None:
        """After the first paint: reads the key, and opens the port where it is to start by
        itself.
        """
        self._waits_for_key = self.starts_with_program
        self._kept.ask(KEY_NAME)

    def start(self) -> None:
        """Opens the port; answered by ON or FAILED. No effect unless OFF or FAILED."""
        if self._state not in (ServerState.OFF, ServerState.FAILED):
            return
        self.error = self.free_port = None
        if self._key is None:
            self._waits_for_key = True
            return
        if self.allows_lan and not self._key:
            error = UsageError("Other machines may only come in with a key; set one first.")
            self._fail(ErrorInfo.from_exception(error))
            return
        self._last_death_s = None
        self._engine.set_kept(True)
        self._open()

    def stop(self) -> None:
        """Closes the port and ends its requests; answered by OFF."""
        self._waits_for_key = False
        if self.is_wanted:
            self._set_state(ServerState.STOPPING)
            self._engine.local.send(StopServer())

    def set_on(self, is_on: bool) -> None:
        """`start` or `stop`."""
        (self.start if is_on else self.stop)()

    def take_free_port(self) -> None:
        """Starts on the port that was offered with the failure."""
        if self.free_port is not None:
            self.set_port(self.free_port)
            self.start()

    def cancel(self, request_id: str) -> None:
        """Ends one request of the port within a token."""
        if self._state is ServerState.ON:
            self._engine.local.send(CancelServerRequest(request_id))

    def clear_log(self) -> None:
        """Forgets the requests that have ended."""
        self.log.clear()
        self.requests_changed.emit()

    def shutdown(self) -> None:
        """Waits for the keyring; the port ends with the engine's process."""
        self._engine.local.event_received.disconnect(self._on_engine_event_received)
        self._kept.shutdown()

    def _open(self) -> None:
        self._set_state(ServerState.STARTING)
        command = StartServer(self.port, self.api_key, allow_lan=self.allows_lan)
        self._engine.local.send(command)

    def _change(self, **values: object) -> None:
        self._settings.update(**values)
        if self._state is ServerState.FAILED:  # what failed was another port than this one
            self.error = self.free_port = None
            self._set_state(ServerState.OFF)
        self.options_changed.emit()

    # --- events ------------------------------------------------------------------------------

    @Slot(str, str)
    def _on_key_read(self, _name: str, key: str) -> None:
        if self._key is None:
            self._key = key
            if self._generates_key and not key:
                self.generate_key()
            self.options_changed.emit()
        if self._waits_for_key:
            self._waits_for_key = False
            self.start()

    @Slot(object)
    def _on_key_written(self, place: KeyPlace) -> None:
        self._key_place = place
        self.options_changed.emit()

    @Slot(object)
    def _on_engine_event_received(self, event: Event) -> None:
        match event:
            case ServerRequestEvent():
                self.log.add(event)
                self.requests_changed.emit()
            case ServerStarted() if self._state is ServerState.STARTING:
                self.base_url = event.base_url
                self._set_state(ServerState.ON)
            case ServerStopped():
                self._close(ServerState.OFF)
            case ServerFailed():
                self.free_port = event.free_port
                self._end_requests(event.error.message)
                self._fail(event.error)
            case EngineStateChanged():
                self.model_changed.emit(event.model.name if event.model else "")
            case WorkerDied():
                self._receive_death(event)
            case WorkerStopped():
                self._receive_end()

    def _receive_death(self, event: WorkerDied) -> None:
        was_wanted, now_s = self.is_wanted, time.monotonic()
        self._forget_requests()
        if not was_wanted:
            self._close(ServerState.OFF)
        elif self._last_death_s is not None and now_s - self._last_death_s < _CALM_S:
            code = event.exit_code
            error = EngineError(
                "The engine stopped twice within a minute (exit code {code}); the port is closed.",
                code=code,
            )
            self._fail(ErrorInfo.from_exception(error))
        else:
            self._last_death_s = now_s
            self._open()
            self._engine.load_again()
            self.engine_lost.emit()

    def _receive_end(self) -> None:
        """The chat has ended the process, for a fresh one: the port moves into that."""
        self._forget_requests()
        if self.is_wanted:
            self._open()
        elif self._state is ServerState.STOPPING:
            self._close(ServerState.OFF)

    def _forget_requests(self) -> None:
        self.model_changed.emit("")
        self._end_requests(Sentence("The engine's process has ended."))

    def _end_requests(self, reason: str) -> None:
        self.log.end_all(reason)
        self.requests_changed.emit()

    def _fail(self, error: ErrorInfo) -> None:
        self.error = error
        self._close(ServerState.FAILED)

    def _close(self, state: ServerState) -> None:
        self.base_url = ""
        self._set_state(state)
        self._engine.set_kept(False)

    def _set_state(self, state: ServerState) -> None:
        if state is not self._state or state is ServerState.FAILED:
            self._state = state
            self.state_changed.emit(state)
