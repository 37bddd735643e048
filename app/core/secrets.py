"""What must never stand in a log: tokens that are in use, and whatever looks like one."""

from __future__ import annotations

import re
import threading

_SHOWN = "[secret]"
# A hub's tokens, and what follows the word in an HTTP header, whoever printed it.
_LOOKS_SECRET = re.compile(r"\bhf_[A-Za-z0-9]{8,}|(?<=Bearer )[^\s'\",}]{4,}", re.IGNORECASE)
_MIN_LENGTH = 6  # shorter ones would blacken ordinary words

_known: set[str] = set()
_lock = threading.Lock()


def remember_secret(text: str) -> None:
    """From now on `redact` hides it, wherever it stands."""
    if len(text) >= _MIN_LENGTH:
        with _lock:
            _known.add(text)


def redact(text: str) -> str:
    """The text without secrets."""
    with _lock:
        known = sorted(_known, key=len, reverse=True)
    for secret in known:
        text = text.replace(secret, _SHOWN)
    return _LOOKS_SECRET.sub(_SHOWN, text)
