"""What the window asks of the process that looks after this disk (`app.core.library_events`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.core.library_events import LibraryItem, Removed
from app.workers.commands import Command


@dataclass(frozen=True, slots=True)
class ScanLibrary(Command):
    """Look at everything; answered by LibraryScanned, the last of them complete, or ScanFailed. A
    scan that runs is given up for the new one.
    """

    library_dir: Path
    folders: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class VerifyItem(Command):
    """Read every byte; answered by VerifyProgressed, then VerifyFinished or what ends a job."""

    item: LibraryItem


@dataclass(frozen=True, slots=True)
class RemoveItems(Command):
    """To the trash, or for good; answered by ItemsRemoved, TrashMissing or JobFailed."""

    items: tuple[LibraryItem, ...]
    permanently: bool = False


@dataclass(frozen=True, slots=True)
class RestoreItems(Command):
    """Out of the trash; answered by ItemsRestored or JobFailed."""

    removed: tuple[Removed, ...]


@dataclass(frozen=True, slots=True)
class MoveLibrary(Command):
    """Answered by MoveProgressed, then LibraryMoved or what ends a job; then `ForgetMove`, when
    the settings name the new folder.
    """

    source: Path
    target: Path


@dataclass(frozen=True, slots=True)
class ForgetMove(Command):
    """The move is over; not answered."""


@dataclass(frozen=True, slots=True)
class RevealPath(Command):
    """Show it in the file manager; answered only by RevealFailed."""

    path: Path
