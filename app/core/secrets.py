"""What must never stand in a log: tokens that are in use, and whatever looks like one."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable

_SHOWN = "[secret]"
# A hub's tokens, and what follows the word in an HTTP header, whoever printed it.
_LOOKS_SECRET = re.compile(r"\bhf_[A-Za-z0-9]{8,}|(?<=Bearer )[^\s'\",}]{4,}", re.IGNORECASE)
_MIN_LENGTH = 6  # shorter ones would blacken ordinary words

_PROMPT_SHOWN = "[prompt]"
_MIN_PROMPT_LENGTH = 12  # of a line; shorter ones would blacken ordinary words, and tell little
_MAX_PROMPT_LINES = 500  # of the latest ones

_known: set[str] = set()
_prompt_lines: dict[str, None] = {}  # the oldest first
_lock = threading.Lock()


def remember_secret(text: str) -> None:
    """From now on `redact` hides it, wherever it stands."""
    if len(text) >= _MIN_LENGTH:
        with _lock:
            _known.add(text)


def remember_prompts(texts: Iterable[str]) -> None:
    """From now on `redact` hides their lines, as they stand and as Python quotes them."""
    lines = [line.strip() for text in texts for line in text.splitlines()[-_MAX_PROMPT_LINES:]]
    with _lock:
        for line in lines:
            if len(line) >= _MIN_PROMPT_LENGTH:
                _prompt_lines[line] = None
        for line in list(_prompt_lines)[:-_MAX_PROMPT_LINES]:
            del _prompt_lines[line]


def redact(text: str) -> str:
    """The text without secrets, and without prompts."""
    with _lock:
        known = sorted(_known, key=len, reverse=True)
        lines = sorted(_prompt_lines, key=len, reverse=True)
    for secret in known:
        text = text.replace(secret, _SHOWN)
    for line in lines:
        text = text.replace(line, _PROMPT_SHOWN).replace(repr(line)[1:-1], _PROMPT_SHOWN)
    return _LOOKS_SECRET.sub(_SHOWN, text)
