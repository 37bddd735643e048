"""When something was used last, and how that is known."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from app.checkpoint.last_used import last_uses
from app.core.library_events import LastUse


def loaded_at() -> dict[str, float]:
    """Our own record: seconds since the epoch by resolved path."""
    return {path: when for path, when in last_uses.read().items() if isinstance(when, int | float)}


def last_use(files: Iterable[Path], loaded_s: float | None = None) -> tuple[float, LastUse]:
    """`loaded_s` where this program loaded it, else what the file system says of its files.

    Most systems note reading seldom or never; a time of reading is told only where it is later than
    that of the last change.
    """
    if loaded_s is not None:
        return loaded_s, LastUse.LOADED
    read_s = changed_s = 0.0
    for file in files:
        try:
            status = file.stat()
        except OSError:
            continue
        read_s, changed_s = max(read_s, status.st_atime), max(changed_s, status.st_mtime)
    return (read_s, LastUse.READ) if read_s > changed_s else (changed_s, LastUse.CHANGED)
