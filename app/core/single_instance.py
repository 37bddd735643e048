"""One window for each home: a second start hands its file to the first one and ends.

No Qt: a second start is over before Qt would be imported.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

_logger = logging.getLogger(__name__)

_KEY_BYTES = 32
_KNOCK_S = 5.0  # while the first one is still starting
_PATIENCE_S = 2.0
_MAX_BYTES = 1 << 16
_FAREWELL = b"bye"
_THANKS = b"ok"

OnKnock = Callable[[Path | None], None]


class InstanceDoor:
    """The lock of a home and, for who holds it, the door where later starts knock.

    A lock ends with its process, however that ends. The address and the key of the door lie in a
    file that only its owner may read; what is said there is bytes, never a pickle.
    """

    def __init__(self, home: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(home / "instance.lock")
        self._path = home / "instance.json"
        self._key = secrets.token_bytes(_KEY_BYTES)
        self._listener: Listener | None = None
        self._thread: threading.Thread | None = None

    def enter(self) -> bool:
        """Takes the lock; False when another process has it."""
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            return False
        return True

    def knock(self, path: Path | None) -> bool:
        """Hands a file, or only the wish to be seen, to who holds the lock; False when it does not
        answer.
        """
        deadline_s = time.monotonic() + _KNOCK_S
        while time.monotonic() < deadline_s:
            with suppress(OSError, ValueError, KeyError, EOFError, AuthenticationError):
                said = json.loads(self._path.read_text(encoding="utf-8"))
                _let_come_forward(int(said["pid"]))
                message = json.dumps(str(path) if path else None).encode()
                return _say(message, said["address"], bytes.fromhex(said["key"]))
            time.sleep(0.1)
        return False

    def open(self, on_knock: OnKnock) -> None:
        """From now on `on_knock` hears of later starts, on a thread of its own."""
        self._listener = Listener(authkey=self._key)
        said = {"address": self._listener.address, "key": self._key.hex(), "pid": os.getpid()}
        self._path.unlink(missing_ok=True)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(said, file)
        self._thread = threading.Thread(
            target=self._serve, args=(self._listener, on_knock), name="door", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Nobody is let in any more; gives the lock back."""
        if self._thread is not None and self._listener is not None:
            with suppress(OSError, ValueError, EOFError, AuthenticationError):
                _say(_FAREWELL, self._listener.address, self._key)
            self._thread.join(_PATIENCE_S)
            self._listener.close()
            self._listener = self._thread = None
            self._path.unlink(missing_ok=True)
        self._lock.release()

    def _serve(self, listener: Listener, on_knock: OnKnock) -> None:
        while True:
            try:
                with listener.accept() as connection:
                    message = _read(connection)
            except (OSError, EOFError, AuthenticationError) as error:
                _logger.info("Somebody knocked and did not say what for: %r", error)
                continue
            if message == _FAREWELL:
                return
            with suppress(ValueError):
                said = json.loads(message)
                on_knock(Path(said) if isinstance(said, str) else None)


def _say(message: bytes, address: Any, key: bytes) -> bool:
    """`address` as a Listener has it; False where it is not thanked for."""
    with Client(address, authkey=key) as connection:
        connection.send_bytes(message)
        return connection.poll(_PATIENCE_S) and connection.recv_bytes(_MAX_BYTES) == _THANKS


def _read(connection: Connection) -> bytes:
    if not connection.poll(_PATIENCE_S):
        return b""
    message = connection.recv_bytes(_MAX_BYTES)
    connection.send_bytes(_THANKS)
    return message


def _let_come_forward(pid: int) -> None:
    """Windows lets a process take the front only when the one that is there allows it."""
    if sys.platform == "win32":
        import ctypes

        ctypes.windll.user32.AllowSetForegroundWindow(pid)
