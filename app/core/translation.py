"""Marks texts of rooms without Qt for translation; they are translated where they are shown."""

from __future__ import annotations


def QT_TRANSLATE_NOOP(context: str, text: str) -> str:
    """The text itself; `context` is what the window translates it in."""
    return text
