"""The engine's state as the window sees it."""

from __future__ import annotations

from enum import StrEnum


class ChatState(StrEnum):
    """Buttons bind to it and hold no flags of their own.

    send and regenerate: READY; stop: GENERATING; load: all but LOADING, GENERATING, UNLOADING;
    restart: DOWN.
    """

    UNLOADED = "unloaded"
    LOADING = "loading"
    READY = "ready"
    GENERATING = "generating"
    UNLOADING = "unloading"
    FAILED = "failed"
    DOWN = "down"
