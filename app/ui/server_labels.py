"""The port's states in words, for the rail, the page and the tray."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.controllers.server import ServerState
from app.core.server_events import ServerRequestState

translate = QCoreApplication.translate


def state_text(state: ServerState, port: int) -> str:
    """Short: `off`, `:8231`."""
    texts = {
        ServerState.OFF: translate("Server", "off"),
        ServerState.STARTING: translate("Server", "opening…"),
        ServerState.ON: f":{port}",
        ServerState.STOPPING: translate("Server", "closing…"),
        ServerState.FAILED: translate("Server", "failed"),
    }
    return texts[state]


def state_tone(state: ServerState) -> str:
    """The colour of the words."""
    return {ServerState.ON: "success", ServerState.FAILED: "danger"}.get(state, "muted")


def request_state_text(state: ServerRequestState) -> str:
    """What a request is doing, or how it ended."""
    texts = {
        ServerRequestState.WAITING: translate("Server", "waiting"),
        ServerRequestState.PREFILL: translate("Server", "reading the prompt"),
        ServerRequestState.DECODING: translate("Server", "answering"),
        ServerRequestState.FINISHED: translate("Server", "done"),
        ServerRequestState.CANCELLED: translate("Server", "cancelled"),
        ServerRequestState.FAILED: translate("Server", "failed"),
    }
    return texts[state]
