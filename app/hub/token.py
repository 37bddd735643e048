"""Tokens of hubs. Each belongs to one host and is sent to no other."""

from __future__ import annotations

import threading
import time
from enum import StrEnum

from app.core.errors import StorageError
from app.core.keychain import Keychain, KeyPlace
from app.core.secrets import remember_secret
from app.hub.endpoints import PUBLIC_MIRROR, environment_endpoint, host_of

# A keyring is asked over a bus, and every request wants its headers.
_REMEMBERED_S = 10.0


class TokenOrigin(StrEnum):
    """Where the token of a hub comes from."""

    NONE = "none"
    KEYRING = "keyring"
    SESSION = "session"
    ENVIRONMENT = "environment"


class TokenStore:
    """Reads and keeps tokens by the hub's host; not for the GUI thread, as a keyring may ask.

    One that was given to this program comes before HF_TOKEN and the login of huggingface_hub.
    """

    def __init__(self, keychain: Keychain) -> None:
        self._keychain = keychain
        self._lock = threading.Lock()
        self._read: dict[str, tuple[float, str]] = {}
        self._session: dict[str, str] = {}

    def find(self, endpoint: str) -> tuple[str, TokenOrigin]:
        """The token for an endpoint, '' where there is none."""
        host = host_of(endpoint)
        if token := self._session.get(host):
            return token, TokenOrigin.SESSION
        if token := self._from_keychain(host):
            return token, TokenOrigin.KEYRING
        if token := _from_environment(endpoint):
            return token, TokenOrigin.ENVIRONMENT
        return "", TokenOrigin.NONE

    def use(self, endpoint: str, token: str) -> None:
        """Takes a token for as long as this process lives; '' forgets it."""
        remember_secret(token)
        self._session[host_of(endpoint)] = token

    def save(self, endpoint: str, token: str) -> TokenOrigin:
        """Keeps a token in the system's keyring; where that cannot be used, for this process."""
        remember_secret(token)
        host = host_of(endpoint)
        self._session.pop(host, None)
        with self._lock:
            self._read.pop(host, None)
            place = self._keychain.write(_name(host), token)
        if place is KeyPlace.SESSION:
            self.use(endpoint, token)
            return TokenOrigin.SESSION
        return TokenOrigin.KEYRING

    def forget(self, endpoint: str) -> TokenOrigin:
        """Removes what was saved; returns where a token still comes from (HF_TOKEN).

        Raises StorageError where the keyring keeps it.
        """
        host = host_of(endpoint)
        self._session.pop(host, None)
        with self._lock:
            self._read.pop(host, None)
            place = self._keychain.write(_name(host), "")
        if place is KeyPlace.KEYRING:
            raise StorageError("The system's keyring does not let go of it; it may be locked.")
        return self.find(endpoint)[1]

    def _from_keychain(self, host: str) -> str:
        with self._lock:
            moment, token = self._read.get(host, (0.0, ""))
            if not moment or time.monotonic() - moment > _REMEMBERED_S:
                token = self._keychain.read(_name(host))
                remember_secret(token)
                self._read[host] = (time.monotonic(), token)
            return token


def _name(host: str) -> str:
    return f"hub {host}"


def _from_environment(endpoint: str) -> str:
    """HF_TOKEN or the saved login, which belong to the hub of the environment.

    A public mirror is not the place where such a token was made, whatever HF_ENDPOINT says.
    """
    home = environment_endpoint()
    if host_of(endpoint) != host_of(home) or home == PUBLIC_MIRROR:
        return ""
    from huggingface_hub import get_token  # a second to import

    token = get_token() or ""
    remember_secret(token)
    return token


TOKENS = TokenStore(Keychain())
