"""A key in the system's keyring, which is asked away from the GUI thread: it may ask the user."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal, Slot

from app.controllers.bridge import EventBridge
from app.core.events import Event
from app.core.keychain import Keychain, KeyPlace
from app.core.secrets import remember_secret

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _KeyRead(Event):
    name: str
    key: str


@dataclass(frozen=True, slots=True)
class _KeyWritten(Event):
    place: KeyPlace


class KeptKey(QObject):
    """Reads and writes, one after another.

    Signals (on the GUI thread):
        read(str, str): the name that was asked for, and its key or ''.
        written(KeyPlace): where the key is now.
    """

    read = Signal(str, str)
    written = Signal(object)

    def __init__(self, keychain: Keychain, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._keychain = keychain
        self._bridge = EventBridge(self)
        self._bridge.received.connect(self._on_bridge_received)
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="keyring")

    def ask(self, name: str) -> None:
        """Answered by `read`."""
        self._pool.submit(self._read, name)

    def keep(self, name: str, key: str) -> None:
        """'' forgets it; answered by `written`."""
        remember_secret(key)
        self._pool.submit(self._write, name, key)

    def shutdown(self) -> None:
        """Waits for what was asked; no signal comes after that."""
        self._bridge.received.disconnect(self._on_bridge_received)
        self._pool.shutdown()

    def _read(self, name: str) -> None:
        try:
            key = self._keychain.read(name)
        except OSError:
            _logger.exception("A key could not be read.")
            key = ""
        remember_secret(key)
        self._bridge.post(_KeyRead(name, key))

    def _write(self, name: str, key: str) -> None:
        try:
            place = self._keychain.write(name, key)
        except OSError:
            _logger.exception("A key could not be kept.")
            place = KeyPlace.NOWHERE
        self._bridge.post(_KeyWritten(place))

    @Slot(object)
    def _on_bridge_received(self, event: Event) -> None:
        match event:
            case _KeyRead():
                self.read.emit(event.name, event.key)
            case _KeyWritten():
                self.written.emit(event.place)
