"""What lies on this disk, and what becomes of it when asked, as frozen dataclasses."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from app.core.events import ErrorInfo, Event


class ItemKind(StrEnum):
    """What an item is to this program."""

    CHECKPOINT = "checkpoint"  # native: can be chatted with
    SOURCE = "source"  # can be converted
    DOWNLOAD = "download"  # has not arrived whole
    CONVERSION = "conversion"  # was interrupted
    OTHER = "other"  # of no use here: another format, an older revision
    DAMAGED = "damaged"


class ItemPlace(StrEnum):
    """Where it lies, which decides how it is verified and removed."""

    LIBRARY = "library"
    HUB = "hub"  # Hugging Face's cache
    FOLDER = "folder"  # that the user named


class LastUse(StrEnum):
    """What `used_s` tells."""

    LOADED = "loaded"  # by this program, our own record
    READ = "read"  # by whatever program, as the file system says
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class LibraryItem:
    """One thing that takes space.

    path: the file or folder that a conversion or chat takes, or all of it. files: what it consists
    of, under their own names (links in the hub's cache); empty for all of `path`. size_bytes: every
    byte counted once, whatever links to it. grid: `W4` of a checkpoint, the source's own word
    (`Q4_K`, `gptq`) else; '' as long as it was not read. refs: names of the revision. problem: why
    it is damaged or refused. busy: why it cannot be removed now. checkpoint: the native one that
    was made of this source. is_verified: its files were found sound and not touched since; of a
    source: its checkpoint. source: of an interrupted conversion.
    """

    kind: ItemKind
    name: str
    path: Path
    place: ItemPlace
    size_bytes: int
    files: tuple[Path, ...] = ()
    architecture: str = ""
    grid: str = ""
    is_lossless: bool = False
    used_s: float = 0.0
    last_use: LastUse = LastUse.CHANGED
    repo_id: str = ""
    commit: str = ""
    refs: tuple[str, ...] = ()
    problem: str = ""
    busy: str = ""
    checkpoint: Path | None = None
    is_verified: bool = False
    source: Path | None = None

    @property
    def key(self) -> str:
        """Tells items apart, scan after scan."""
        return f"{self.kind}:{self.path}:{self.files[0] if self.files else ''}"


@dataclass(frozen=True, slots=True)
class VolumeSpace:
    """The volume that holds `path`."""

    path: Path
    free_bytes: int
    total_bytes: int


class FreeUpReason(StrEnum):
    """Why something need not stay."""

    CONVERTED = "converted"  # its checkpoint is there and verified
    OLD_DOWNLOAD = "old_download"  # nobody went on with it for long
    OLD_REVISION = "old_revision"  # no branch or tag means it any more
    CONVERSION = "conversion"
    LEFTOVER = "leftover"  # of a removal that was cut short


@dataclass(frozen=True, slots=True)
class FreeUp:
    """A suggestion; nothing is ever removed without a click."""

    reason: FreeUpReason
    item: LibraryItem


@dataclass(frozen=True, slots=True)
class LibraryScanned(Event):
    """Several times while a scan goes on; `is_complete` the last time, then with `free_up`."""

    items: tuple[LibraryItem, ...]
    space: VolumeSpace
    is_complete: bool
    free_up: tuple[FreeUp, ...] = ()
    move_target: Path | None = None  # of a move that was interrupted


@dataclass(frozen=True, slots=True)
class VerifyProgressed(Event):
    """At most ten times a second."""

    key: str
    file: str
    done_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class BrokenFile:
    """A file that is not what it should be; `reason` is a sentence that names it."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True)
class VerifyFinished(Event):
    """`broken` files, and those that nothing could be compared with, with the reason."""

    item: LibraryItem
    num_files: int
    num_bytes: int
    broken: tuple[BrokenFile, ...]
    unchecked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Removed:
    """What it takes to bring it back: trashed paths, and links that pointed there."""

    item: LibraryItem
    trashed: tuple[Path, ...] = ()
    links: tuple[tuple[Path, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ItemsRemoved(Event):
    """`is_in_trash`: it can be brought back, by `can_restore` from here, else by hand."""

    removed: tuple[Removed, ...]
    freed_bytes: int
    is_in_trash: bool
    can_restore: bool = False


@dataclass(frozen=True, slots=True)
class TrashMissing(Event):
    """Nothing was removed: this volume has no trash, so that only a deletion for good remains."""

    items: tuple[LibraryItem, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class ItemsRestored(Event):
    """Out of the trash again."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MoveProgressed(Event):
    """`name` is on its way."""

    name: str
    done_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class LibraryMoved(Event):
    """Everything lies in `target` now."""

    source: Path
    target: Path
    names: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class ScanFailed(Event):
    """The last event of a look at this disk that could not be ended."""

    error: ErrorInfo


@dataclass(frozen=True, slots=True)
class RevealFailed(Event):
    """No file manager shows what was to be revealed."""

    error: ErrorInfo
