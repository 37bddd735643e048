"""The system's trash: what goes there can be brought back, by hand or, on Linux, from here.

Trash folders: freedesktop.org's trash specification 1.0.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote

from send2trash import send2trash

from app.core.errors import ResourceError, StorageError
from app.core.sentence import Sentence
from app.core.system_reason import refused, system_reason

_DRIVE_FIXED = 3


class TrashMissingError(ResourceError):
    """This volume has no trash: only a deletion for good remains, which must be asked for."""


class Trash(Protocol):
    """Where removals go."""

    @property
    def can_restore(self) -> bool:
        """Whether `restore` works on this system."""

    def put(self, path: Path) -> None:
        """Moves a file or folder there; TrashMissingError, with nothing moved, where none is."""

    def restore(self, path: Path) -> None:
        """Puts back what lay at `path`; ResourceError where that cannot be."""


class SystemTrash:
    """That of the desktop."""

    @property
    def can_restore(self) -> bool:
        """Windows and macOS keep to themselves where things went."""
        return sys.platform not in ("win32", "darwin")

    def put(self, path: Path) -> None:
        """As `Trash.put`."""
        if sys.platform == "win32" and not _is_fixed_drive(path):
            # Windows deletes for good, and without a word, what lies on such a drive.
            raise TrashMissingError("{volume} has no Recycle Bin.", volume=path.anchor)
        try:
            send2trash(path)
        except OSError as error:
            reason = system_reason(error)
            raise TrashMissingError(
                "{name} could not be moved to the trash ({reason}).",
                name=path.name,
                reason=reason,
                detail=repr(error),
            ) from error

    def restore(self, path: Path) -> None:
        """As `Trash.restore`; of several from the same place, the one deleted last."""
        if path.exists():
            raise StorageError(
                "{path} is there already; what is in the trash stays there.", path=path
            )
        found = [(info.stat().st_mtime, info) for info in _iter_infos(path) if _is_of(info, path)]
        if not found:
            raise StorageError("{name} is no longer in the trash.", name=path.name)
        _, info = max(found)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            os.rename(_content(info), path)
            info.unlink()
        except OSError as error:
            raise refused(
                error,
                Sentence(
                    "{name} could not be brought back ({reason}).",
                    name=path.name,
                    reason=system_reason(error),
                ),
            ) from error


def _iter_infos(path: Path) -> Iterator[Path]:
    """Records of all trash folders that `path` may have gone to."""
    data_home = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    top = _mount_point(path)
    user = str(os.getuid()) if sys.platform != "win32" else ""
    for folder in (data_home / "Trash", top / ".Trash" / user, top / f".Trash-{user}"):
        yield from (folder / "info").glob("*.trashinfo")


def _is_of(info: Path, path: Path) -> bool:
    """Whether the record is of what lay at `path`, and the thing itself is there."""
    try:
        lines = info.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    stored = next((line.removeprefix("Path=") for line in lines if line.startswith("Path=")), "")
    top = info.parents[2]  # paths in a volume's own trash are relative to the volume
    tops = (top, top.parent) if info.parents[1].parent.name == ".Trash" else (top,)
    places = [os.path.normpath(place / unquote(stored)) for place in tops]
    return str(path.absolute()) in places and os.path.lexists(_content(info))


def _content(info: Path) -> Path:
    return info.parents[1] / "files" / info.name.removesuffix(".trashinfo")


def _mount_point(path: Path) -> Path:
    place = path.parent.resolve()
    while not place.is_mount():
        place = place.parent
    return place


def _is_fixed_drive(path: Path) -> bool:
    drive_type = ctypes.windll.kernel32.GetDriveTypeW  # type: ignore[attr-defined,unused-ignore]
    return bool(drive_type(path.absolute().anchor) == _DRIVE_FIXED)
