"""Texts that divide a reply, found in a stream."""

from __future__ import annotations

from collections.abc import Iterable

from app.engine.stop_strings import count_held


def split_at_marker(text: str, markers: Iterable[str]) -> tuple[str, str, str]:
    """(text before the first marker, the marker, text behind it).

    Without a marker: (text that certainly belongs to none, "", text that one may begin with).
    """
    markers = tuple(markers)
    found = [(text.find(marker), -len(marker), marker) for marker in markers if marker in text]
    if found:
        start, _, marker = min(found)
        return text[:start], marker, text[start + len(marker) :]
    safe = len(text) - count_held(text, markers)
    return text[:safe], "", text[safe:]


def may_become(text: str, marker: str) -> bool:
    """Whether `text` is the beginning of a marker, and not all of it."""
    return len(text) < len(marker) and marker.startswith(text)


class Trimmer:
    """Drops the white space around a text that is streamed."""

    def __init__(self, *, keeps_start: bool = False) -> None:
        self._is_at_start = not keeps_start
        self._held = ""

    def add(self, text: str) -> str:
        """What may be shown: white space waits for what follows it."""
        text = self._held + text
        if self._is_at_start:
            text = text.lstrip()
        shown = text.rstrip()
        self._held = text[len(shown) :]
        self._is_at_start = self._is_at_start and not shown
        return shown

    def flush(self) -> str:
        """The white space that was held back and turned out not to be the end."""
        held, self._held = self._held, ""
        return held
