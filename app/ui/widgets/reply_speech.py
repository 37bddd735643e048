"""A reply as a screen reader tells it: a sentence at a time, while it streams."""

from __future__ import annotations

import re

from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QWidget

# Where somebody who reads aloud would pause; a full stop within 3.14 or a name is none.
_END = re.compile(r"[.!?:;][\"'”’)\]*_`]*\s+|[。！？；：…]+[”’』」）]*|\n+")


class ReplySpeech:
    """Announces through `widget`; costs nothing while no screen reader listens."""

    def __init__(self, widget: QWidget) -> None:
        self._widget = widget
        self._num_told = 0

    def follow(self, text: str, *, is_complete: bool = False) -> None:
        """`text` is the whole reply so far; announces the sentences that have ended since."""
        if not QAccessible.isActive():
            return
        end = len(text) if is_complete else find_end(text, self._num_told)
        sentences = text[self._num_told : end].strip()
        self._num_told = end
        if sentences:
            event = QAccessibleAnnouncementEvent(self._widget, sentences)
            QAccessible.updateAccessibility(event)


def find_end(text: str, start: int) -> int:
    """Behind the last sentence of `text` that has ended, `start` where none has."""
    return max((match.end() for match in _END.finditer(text, start)), default=start)
