"""The engine in a child process: commands to `EngineHost`, its events to the pipe."""

from __future__ import annotations

from app.core.events import (
    Event,
    PrefillProgressed,
    PromptTruncated,
    RequestFailed,
    RequestFinished,
    TokensGenerated,
)
from app.core.paths import kv_dir
from app.engine.host import EngineHost
from app.engine.host_options import HostOptions
from app.workers.child import Listener
from app.workers.commands import (
    CancelRequest,
    CancelServerRequest,
    Command,
    ConfigureEngine,
    ForgetConversation,
    LoadModel,
    MeasurePrompt,
    StartServer,
    StopServer,
    SubmitRequest,
    UnloadModel,
)
from app.workers.server_slot import ServerSlot

_OF_A_REQUEST = (
    PrefillProgressed,
    PromptTruncated,
    TokensGenerated,
    RequestFinished,
    RequestFailed,
)


class EngineService:
    """Passes commands on; what goes wrong comes as the host's events, so the futures are let go.

    The port's requests are told by its own events, not token by token.
    """

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._host = EngineHost(self._on_engine_event)
        self._server = ServerSlot(self._host, listener)

    def handle(self, command: Command) -> None:
        """Queues the command for the engine thread."""
        match command:
            case LoadModel():
                self._host.load(
                    command.model_dir,
                    command.device,
                    command.max_model_len,
                    command.activations,
                    command.kv_dtype,
                )
            case UnloadModel():
                self._host.unload()
            case SubmitRequest():
                self._host.submit(command.request, self._listener)
            case MeasurePrompt():
                self._host.measure(command.request)
            case CancelRequest():
                self._host.cancel(command.request_id)
            case ConfigureEngine():
                self._host.set_options(to_host_options(command))
            case ForgetConversation():
                self._host.forget_conversation(command.cache_key)
            case StartServer() | StopServer() | CancelServerRequest():
                self._server.handle(command)
            case _:
                raise TypeError(f"{command} is no command for the engine.")

    def close(self) -> None:
        """Closes the port, cancels, unloads and waits for the engine thread."""
        self._server.close()
        self._host.close()

    def _on_engine_event(self, event: Event) -> None:
        if not isinstance(event, _OF_A_REQUEST):
            self._listener(event)


def to_host_options(command: ConfigureEngine) -> HostOptions:
    """Where the window's conversations are kept, and how long a model may be idle."""
    return HostOptions(
        kv_dir=kv_dir(),
        keeps_conversations=command.keeps_conversations,
        idle_unload_s=command.idle_unload_s,
    )


def create_service(listener: Listener) -> EngineService:
    """The engine, without a model."""
    return EngineService(listener)
