"""When each checkpoint was loaded last: our own record; the times of a file tell reading badly."""

from __future__ import annotations

import time
from pathlib import Path

from app.core.path_memory import PathMemory

last_uses = PathMemory("last_used.json")  # seconds since the epoch


def note_use(directory: Path) -> None:
    """It is loaded now."""
    last_uses.remember(directory, time.time())
