"""Which output folders a conversion may write to, and whether the disk has room."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

from app.checkpoint.reader import Checkpoint
from app.core.errors import RoomError, UsageError

# For the file system's own overhead, and so that the disk is never quite full.
_SPARE_BYTES = 64 << 20


def check_output(output: Path, source: Path, *, overwrite: bool) -> None:
    """UsageError unless `output` is new, empty, or a native checkpoint that may be replaced."""
    target, origin = output.resolve(), source.resolve()
    if target == origin or target in origin.parents:
        raise UsageError(
            "{output} is the source itself or a folder that contains it.", output=output
        )
    if not output.exists():
        return
    if not output.is_dir():
        raise UsageError("{output} exists and is not a folder.", output=output)
    if not any(output.iterdir()):
        return
    if not Checkpoint.is_native_dir(output):
        raise UsageError("{output} is not empty and not a native checkpoint.", output=output)
    if not overwrite:
        raise UsageError("{output} exists already; --overwrite replaces it.", output=output)


def check_free_space(output: Path, needed_bytes: int) -> None:
    """Raises RoomError with both numbers when the disk of `output` has too little room."""
    parent = next(path for path in output.resolve().parents if path.exists())
    free = shutil.disk_usage(parent).free
    if free < needed_bytes + _SPARE_BYTES:
        raise RoomError(
            "Not enough disk space for {output}: {needed} needed, {free} free.",
            output=output.name,
            needed=_gib(needed_bytes + _SPARE_BYTES),
            free=_gib(free),
        )


class SpaceGuard:
    """What a conversion has still to write; the disk must have room for it.

    It is asked at the start, and again whenever a linear turns out larger than planned. Raises
    RoomError like `check_free_space`. For any thread.
    """

    def __init__(self, output: Path, needed_bytes: int) -> None:
        self._output, self._needed_bytes = output, needed_bytes
        self._lock = threading.Lock()
        check_free_space(output, needed_bytes)

    def grow(self, num_bytes: int) -> None:
        """So many more bytes than planned will be written."""
        with self._lock:
            self._needed_bytes += num_bytes
            if num_bytes > 0:
                check_free_space(self._output, self._needed_bytes)

    def release(self, num_bytes: int) -> None:
        """So many bytes are written."""
        with self._lock:
            self._needed_bytes -= num_bytes


def _gib(num_bytes: int) -> str:
    return f"{num_bytes / (1 << 30):.2f} GiB"
