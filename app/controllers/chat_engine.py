"""Who answers the chat: the engine in a process of this program, or another server."""

from __future__ import annotations

import logging
from functools import partial

from PySide6.QtCore import QObject, Signal

from app.controllers.remote_link import ConnectRemote, RemoteLink
from app.controllers.worker_link import WorkerLink
from app.core.events import EngineState, EngineStateChanged, Event, WorkerDied, WorkerStopped
from app.core.paths import kv_dir
from app.core.secrets import remember_prompts
from app.workers.commands import (
    Command,
    ConfigureEngine,
    ForgetConversation,
    LoadModel,
    SubmitRequest,
)
from app.workers.process import STOP_TIMEOUT_S

_logger = logging.getLogger(__name__)


class ChatEngine(QObject):
    """`local` is shared with the port, which keeps it: then its process stays without a model, and
    with one that the chat does not use.

    Signals:
        event_received(Event): of the one that answers.
    """

    event_received = Signal(object)

    def __init__(self, service: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.local = WorkerLink(service, self)
        self._is_kept = False
        self._configuration = ConfigureEngine()
        self._forgotten: list[ForgetConversation] = []
        self._local_state = EngineState.UNLOADED
        self._local_load: LoadModel | None = None  # of the model in the process, or on its way
        self._remote = RemoteLink(self)
        self._active: WorkerLink | RemoteLink = self.local
        for link in (self.local, self._remote):
            link.event_received.connect(partial(self._on_link_event_received, link))

    @property
    def is_remote(self) -> bool:
        """Whether another server answers."""
        return self._active is self._remote

    def send(self, command: Command) -> None:
        """To whoever answers; LoadModel and ConnectRemote say who that is from now on."""
        match command:
            case SubmitRequest():
                remember_prompts(command.request.texts)
            case ConnectRemote() if not self.is_remote:
                self.release()
                self._active = self._remote
            case LoadModel() if self.is_remote:
                self._remote.give_up()
                self._active = self.local
        if isinstance(command, LoadModel):
            self._load(command)
        else:
            self._active.send(command)

    def load_again(self) -> None:
        """The process has died with a model that only the port uses: a fresh one loads it. While
        the process answers the chat, that is who loads.
        """
        if self.is_remote and self._local_load is not None:
            self._load(self._local_load)

    def configure(self, command: ConfigureEngine) -> None:
        """For the process that runs, and each one that loads a model later."""
        self._configuration = command
        if self.local.is_running:
            self.local.send(command)

    def forget(self, conversation_id: str) -> None:
        """Removes what the process keeps of a conversation: with the next model, or the end of the
        program, at the latest."""
        command = ForgetConversation(conversation_id)
        if self.local.is_running:
            self.local.send(command)
        else:
            self._forgotten.append(command)

    def set_kept(self, is_kept: bool) -> None:
        """Whether the port needs the process; without it, one that nobody uses ends."""
        self._is_kept = is_kept
        is_unused = self.is_remote or self._local_state is EngineState.UNLOADED
        if not is_kept and is_unused:
            self._end_local()

    def end(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Ends the process, if that is what answers; the next command starts another."""
        if not self.is_remote:
            self._end_local(timeout_s)

    def release(self) -> None:
        """Ends the process unless the port needs it: what a card keeps for it is given back."""
        if not self._is_kept:
            self.end()

    def shutdown(self) -> None:
        """Ends both and waits."""
        self._remote.shutdown()
        self.local.shutdown()
        if self._forgotten:
            from app.engine.kv_store import remove_conversation  # NumPy comes with it

            for command in self._forgotten:
                remove_conversation(kv_dir(), command.cache_key)

    def _end_local(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        self._local_load = None
        self.local.end(timeout_s)

    def _load(self, command: LoadModel) -> None:
        self._local_load, self._local_state = command, EngineState.LOADING
        self._prepare_process()
        self.local.send(command)

    def _prepare_process(self) -> None:
        commands, self._forgotten = self._forgotten, []
        for command in (self._configuration, *commands):
            self.local.send(command)

    def _on_link_event_received(self, link: QObject, event: Event) -> None:
        if link is self.local:
            self._note_local_state(event)
        if link is self._active:
            self.event_received.emit(event)

    def _note_local_state(self, event: Event) -> None:
        match event:
            case EngineStateChanged():
                self._local_state = event.state
                if event.model is not None and event.state is EngineState.READY:
                    _logger.info("%s is ready: %s.", event.model.name, event.model.device_note)
                is_gone = event.state is EngineState.UNLOADED and event.model is None
                if is_gone or event.state is EngineState.FAILED:
                    self._local_load = None
            case WorkerDied() | WorkerStopped():
                self._local_state = EngineState.UNLOADED
