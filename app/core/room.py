"""Room on the volumes where a download and its conversion end."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import RoomError
from app.core.sentence import Sentence
from app.core.units import format_bytes

# Left free: a volume that is full to the last byte breaks what else runs on it.
SPARE_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Need:
    """`num_bytes` below `folder`, which need not be there yet; `what` names them in a sentence."""

    folder: Path
    num_bytes: int
    what: str


def check_room(needs: Sequence[Need]) -> None:
    """RoomError with the numbers where what is needed does not fit on its volume."""
    volumes: dict[int, list[Need]] = {}
    for need in needs:
        if need.num_bytes > 0:
            volumes.setdefault(volume_of(existing_part(need.folder)), []).append(need)
    for together in volumes.values():
        _check_volume(together)


def existing_part(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    return next(p for p in (folder, *folder.absolute().parents) if p.exists())


def volume_of(folder: Path) -> int:
    """Tells volumes apart."""
    return folder.stat().st_dev


def free_bytes(folder: Path) -> int:
    """Of the volume of a folder that is there."""
    return shutil.disk_usage(folder).free


def _check_volume(needs: Sequence[Need]) -> None:
    folder = existing_part(needs[0].folder)
    free = free_bytes(folder)
    needed = sum(need.num_bytes for need in needs)
    if needed + SPARE_BYTES <= free:
        return
    raise RoomError(
        "The download needs {needed} ({parts}) and {spare} to spare; {folder} has {free} free.",
        needed=format_bytes(needed),
        parts=_sum(needs),
        spare=format_bytes(SPARE_BYTES),
        folder=folder,
        free=format_bytes(free),
    )


def _sum(needs: Sequence[Need]) -> str:
    first, rest = needs[0], needs[1:]
    part = Sentence("{size} for {what}", size=format_bytes(first.num_bytes), what=first.what)
    return Sentence("{first} + {rest}", first=part, rest=_sum(rest)) if rest else part
