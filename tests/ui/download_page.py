"""The Download page with workers that only remember what they are asked."""

from __future__ import annotations

import pytest

from app.controllers.download import DownloadController
from app.core.events import Event
from app.workers.commands import Command
from tests.ui.download_samples import FOUND, SMALL

_ROOMY = 1 << 50


def remember_commands(monkeypatch: pytest.MonkeyPatch) -> list[Command]:
    """Commands to workers, which are not started."""
    commands: list[Command] = []
    link = "app.controllers.worker_link.WorkerLink"
    monkeypatch.setattr(f"{link}.send", lambda _self, command: commands.append(command))
    monkeypatch.setattr(f"{link}.end", lambda _self, _timeout_s=0.0: None)
    monkeypatch.setattr("app.core.room.free_bytes", lambda _folder: _ROOMY)
    return commands


def tell(controller: DownloadController, event: object) -> None:
    """As the worker of the downloads would."""
    controller._link.event_received.emit(event)


def tell_hub(controller: DownloadController, event: Event) -> None:
    """As the worker that asks hubs would."""
    controller.hub._link.event_received.emit(event)


def begin(controller: DownloadController) -> str:
    """A download that runs; returns its key."""
    controller.enqueue(FOUND, SMALL)
    return controller.entries[0].key
