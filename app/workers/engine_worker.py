"""The engine in a child process: commands to `EngineHost`, its events to the pipe."""

from __future__ import annotations

from app.engine.host import EngineHost
from app.workers.child import Listener
from app.workers.commands import CancelRequest, Command, LoadModel, SubmitRequest, UnloadModel


class EngineService:
    """Passes commands on; what goes wrong comes as the host's events, so the futures are let go."""

    def __init__(self, listener: Listener) -> None:
        self._host = EngineHost(listener)

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
                self._host.submit(command.request)
            case CancelRequest():
                self._host.cancel(command.request_id)
            case _:
                raise TypeError(f"{command} is no command for the engine.")

    def close(self) -> None:
        """Cancels, unloads and waits for the engine thread."""
        self._host.close()


def create_service(listener: Listener) -> EngineService:
    """The engine, without a model."""
    return EngineService(listener)
