"""A tiny service for process tests: echoes, floods and dies on command."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass

from app.core.events import Event
from app.workers.child import Listener
from app.workers.commands import Command


@dataclass(frozen=True, slots=True)
class Say(Command):
    text: str


@dataclass(frozen=True, slots=True)
class Flood(Command):
    """Posts numbered events without end from a thread of the service."""


@dataclass(frozen=True, slots=True)
class Exit(Command):
    code: int


@dataclass(frozen=True, slots=True)
class Crash(Command):
    """An error that the service did not expect."""


@dataclass(frozen=True, slots=True)
class RefuseToClose(Command):
    """Makes `close` hang."""


@dataclass(frozen=True, slots=True)
class Said(Event):
    text: str
    pid: int


@dataclass(frozen=True, slots=True)
class Flooded(Event):
    number: int
    payload: str


class FakeService:
    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._has_to_stop = threading.Event()
        self._refuses = False

    def handle(self, command: Command) -> None:
        match command:
            case Say(text):
                self._listener(Said(text, os.getpid()))
            case Flood():
                threading.Thread(target=self._flood, daemon=True).start()
            case Exit(code):
                os._exit(code)
            case Crash():
                raise ZeroDivisionError("the service did not expect this")
            case RefuseToClose():
                self._refuses = True

    def close(self) -> None:
        self._has_to_stop.set()
        while self._refuses:
            time.sleep(0.05)

    def _flood(self) -> None:
        number = 0
        while not self._has_to_stop.is_set():
            self._listener(Flooded(number, "x" * 1000))
            number += 1


def create_service(listener: Listener) -> FakeService:
    return FakeService(listener)


def create_nothing(listener: Listener) -> FakeService:
    raise RuntimeError("this service cannot be created")
