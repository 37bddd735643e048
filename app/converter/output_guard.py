"""Which output folders a conversion may write to, and whether the disk has room."""

from __future__ import annotations

import shutil
from pathlib import Path

from app.checkpoint.reader import Checkpoint
from app.core.errors import ResourceError, UsageError

# Tokenizer files, manifest and file system overhead, which the plan does not count.
_SPARE_BYTES = 64 << 20


def check_output(output: Path, source: Path, *, overwrite: bool) -> None:
    """UsageError unless `output` is new, empty, or a native checkpoint that may be replaced."""
    target, origin = output.resolve(), source.resolve()
    if target == origin or target in origin.parents:
        raise UsageError(f"{output} is the source itself or a folder that contains it.")
    if not output.exists():
        return
    if not output.is_dir():
        raise UsageError(f"{output} exists and is not a folder.")
    if not any(output.iterdir()):
        return
    if not Checkpoint.is_native_dir(output):
        raise UsageError(f"{output} is not empty and not a native checkpoint.")
    if not overwrite:
        raise UsageError(f"{output} exists already; --overwrite replaces it.")


def check_free_space(output: Path, needed_bytes: int) -> None:
    """Raises ResourceError with both numbers when the disk of `output` has too little room."""
    parent = next(path for path in output.resolve().parents if path.exists())
    free = shutil.disk_usage(parent).free
    if free < needed_bytes + _SPARE_BYTES:
        raise ResourceError(
            f"Not enough disk space for {output.name}: {_gib(needed_bytes + _SPARE_BYTES)} needed, "
            f"{_gib(free)} free."
        )


def _gib(num_bytes: int) -> str:
    return f"{num_bytes / (1 << 30):.2f} GiB"
