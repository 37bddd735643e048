"""Keys of servers, where the system keeps passwords; never in a settings file, never in a log."""

from __future__ import annotations

import os
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from app.core.boundary import Guard

SERVICE = "DeepInfer"


class KeyPlace(StrEnum):
    """Where a key is kept."""

    NOWHERE = "nowhere"
    KEYRING = "keyring"
    FILE = "file"
    SESSION = "session"


class Keychain:
    """The system's keyring; where there is none, `folder` (files that only their owner may read),
    or, without a folder, this object's memory. Not for the GUI thread: a keyring may ask the user.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._session: dict[str, str] = {}

    def read(self, name: str) -> str:
        """The key, or '' when none is kept."""
        return self._session.get(name) or self._read_file(name) or _read_keyring(name)

    def write(self, name: str, key: str) -> KeyPlace:
        """Keeps the key in place of an older one; '' forgets it. Returns where it is now: the
        keyring, too, where that lets nobody see whether it has one to be forgotten.

        Raises OSError when the file cannot be written.
        """
        self._session.pop(name, None)
        self._remove_file(name)
        if not key:
            return KeyPlace.NOWHERE if _forget_in_keyring(name) else KeyPlace.KEYRING
        if _write_keyring(name, key):
            return KeyPlace.KEYRING
        if self._folder is not None:
            _write_private(self._folder / name, key)
            return KeyPlace.FILE
        self._session[name] = key
        return KeyPlace.SESSION

    def _read_file(self, name: str) -> str:
        if self._folder is None or not (self._folder / name).is_file():
            return ""
        return (self._folder / name).read_text(encoding="utf-8", errors="replace").strip()

    def _remove_file(self, name: str) -> None:
        if self._folder is not None:
            (self._folder / name).unlink(missing_ok=True)


def _write_private(path: Path, key: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(key)


# keyring is imported where it is used: it looks for backends, which takes a tenth of a second.


def _read_keyring(name: str) -> str:
    import keyring

    # A backend is the desktop's: locked, refused, its bus gone.
    with Guard("The keyring could not be read"), suppress(keyring.errors.NoKeyringError):
        return keyring.get_password(SERVICE, name) or ""
    return ""


def _write_keyring(name: str, key: str) -> bool:
    import keyring

    with Guard("The keyring could not be written"), suppress(keyring.errors.NoKeyringError):
        keyring.set_password(SERVICE, name, key)
        return True
    return False


def _forget_in_keyring(name: str) -> bool:
    """Whether none is there now."""
    import keyring

    with Guard("The keyring could not be written"):
        with suppress(keyring.errors.NoKeyringError):
            if keyring.get_password(SERVICE, name) is not None:
                keyring.delete_password(SERVICE, name)
        return True
    return False
