"""Another server in the place of the engine's process: the same commands in, the same events out.

The HTTP client is imported on the threads that use it: it takes a fifth of a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from app.controllers.bridge import EventBridge
from app.controllers.remote_question import RemoteQuestion
from app.controllers.threads import FunctionThread
from app.core.events import (
    REMOTE_DEVICE,
    EngineState,
    EngineStateChanged,
    ErrorInfo,
    Event,
    LoadedModel,
)
from app.engine.request import Request
from app.remote.endpoint import RemoteEndpoint, RemoteModel
from app.workers.commands import CancelRequest, Command, SubmitRequest, UnloadModel

if TYPE_CHECKING:
    from app.remote.reply import RemoteReply

Chosen = tuple[RemoteEndpoint, RemoteModel]


@dataclass(frozen=True, slots=True)
class ConnectRemote(Command):
    """Ask a server for its models and take one; answered by EngineStateChanged(ready | failed)."""

    endpoint: RemoteEndpoint


class RemoteLink(QObject):
    """One server and one reply at a time. Nothing here waits.

    Signals:
        event_received(Event): as of `WorkerLink`, from ConnectRemote on.
    """

    event_received = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._bridge = EventBridge(self)
        self._bridge.received.connect(self._on_bridge_received)
        self._endpoint: RemoteEndpoint | None = None
        self._question: RemoteQuestion | None = None
        self._reply: RemoteReply | None = None

    def send(self, command: Command) -> None:
        """Begins what is asked; answers come as events."""
        match command:
            case ConnectRemote():
                self._connect(command.endpoint)
            case SubmitRequest():
                self._submit(command.request)
            case CancelRequest() if self._reply is not None:
                self._reply.cancel()
            case UnloadModel():
                self._endpoint = None
                self._bridge.post(EngineStateChanged(EngineState.UNLOADED))

    def give_up(self) -> None:
        """Breaks off what runs."""
        if self._question is not None:
            self._question.give_up()
            self._question = None
        if self._reply is not None:
            self._reply.cancel()
            self._reply = None

    def shutdown(self) -> None:
        """As `give_up`, and waits; no event is heard any more."""
        self._bridge.received.disconnect(self._on_bridge_received)
        self.give_up()
        for question in self.findChildren(RemoteQuestion):
            question.join()
        for thread in self.findChildren(FunctionThread):
            thread.join()

    def _connect(self, endpoint: RemoteEndpoint) -> None:
        self.give_up()
        self._bridge.post(EngineStateChanged(EngineState.LOADING))
        self._question = RemoteQuestion(partial(_choose_model, endpoint), self)
        self._question.answered.connect(self._on_question_answered)
        self._question.failed.connect(self._on_question_failed)

    def _submit(self, request: Request) -> None:
        from app.remote.reply import RemoteReply

        assert self._endpoint is not None  # nobody asks before READY
        self._reply = RemoteReply(self._endpoint, request, self._bridge.post)
        thread = FunctionThread(self._reply.run, self)
        thread.finished.connect(thread.deleteLater)
        thread.start()

    @Slot(object)
    def _on_question_answered(self, chosen: Chosen) -> None:
        self._endpoint, model = chosen
        loaded = _to_loaded_model(self._endpoint, model)
        self._bridge.post(EngineStateChanged(EngineState.READY, loaded))

    @Slot(object)
    def _on_question_failed(self, error: ErrorInfo) -> None:
        self._bridge.post(EngineStateChanged(EngineState.FAILED, error=error))

    @Slot(object)
    def _on_bridge_received(self, event: Event) -> None:
        self.event_received.emit(event)


async def _choose_model(endpoint: RemoteEndpoint) -> Chosen:
    from app.remote.client import choose_model

    return await choose_model(endpoint)


def _to_loaded_model(endpoint: RemoteEndpoint, model: RemoteModel) -> LoadedModel:
    """What the window shows of it; 0 where nobody knows."""
    return LoadedModel(
        name=model.name,
        model_dir=Path(),
        architecture="",
        device=REMOTE_DEVICE,
        device_note=endpoint.base_url,
        max_model_len=model.max_model_len or 0,
        weights_bytes=0,
        kv_bytes_per_token=0,
        load_s=0.0,
        has_chat_template=True,
    )
