"""What lies in the library's own folder: checkpoints, interrupted conversions, damage, rests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from app.converter.workdir import Job, WorkDir
from app.core.library_events import ItemKind, ItemPlace, LibraryItem
from app.core.sentence import Sentence
from app.hub.library import UNFINISHED, DamagedEntry, LibraryEntry, iter_entries
from app.library.context import Context
from app.library.sizes import count_bytes, folder_files

REMOVED_PREFIX = ".removed-"
_WORKING, _REPLACED = ".partial", ".replaced"


def iter_own_items(library_dir: Path, context: Context) -> Iterator[LibraryItem]:
    """Item by item, in no order; an unreadable folder is an item with a problem."""
    for entry in iter_entries(library_dir):
        yield _from_entry(entry, context)
    for folder in _unfinished(library_dir):
        item = _from_unfinished(folder, library_dir)
        if item is not None:
            yield context.with_use(item, folder_files(folder))


def from_entry(entry: LibraryEntry, context: Context) -> LibraryItem:
    """A checkpoint as an item."""
    files = folder_files(entry.path)
    item = LibraryItem(
        ItemKind.CHECKPOINT,
        entry.name,
        entry.path,
        ItemPlace.LIBRARY,
        count_bytes(files),
        architecture=entry.architecture,
        grid=entry.grid,
        is_lossless=entry.is_lossless,
        is_verified=entry.is_verified,
    )
    return context.with_use(item, files)


def _from_entry(entry: LibraryEntry | DamagedEntry, context: Context) -> LibraryItem:
    if isinstance(entry, LibraryEntry):
        context.add_entry(entry)
        return from_entry(entry, context)
    return context.with_use(_damaged(entry.name, entry.path, entry.problem), ())


def _damaged(name: str, path: Path, problem: str) -> LibraryItem:
    size_bytes = count_bytes(folder_files(path))
    return LibraryItem(ItemKind.DAMAGED, name, path, ItemPlace.LIBRARY, size_bytes, problem=problem)


def _unfinished(library_dir: Path) -> Iterator[Path]:
    """Folders that the list of checkpoints leaves out, and those that cannot be read."""
    closed: list[Path] = []

    def remember(error: OSError) -> None:
        closed.append(Path(error.filename))

    for directory, subfolders, _ in os.walk(library_dir, onerror=remember):
        for name in [name for name in subfolders if UNFINISHED.fullmatch(name)]:
            subfolders.remove(name)
            yield Path(directory) / name
    yield from (path for path in closed if path.is_dir())


def _from_unfinished(folder: Path, library_dir: Path) -> LibraryItem | None:
    """None for a hidden folder that is not ours."""
    name = folder.relative_to(library_dir).as_posix() if folder != library_dir else folder.name
    if not os.access(folder, os.R_OK | os.X_OK):
        item = _damaged(
            name, folder, Sentence("{name} cannot be read (permission denied).", name=folder.name)
        )
        # Of the library itself nothing is ever removed as a whole.
        return replace(item, place=ItemPlace.FOLDER) if folder == library_dir else item
    if folder.name.startswith(REMOVED_PREFIX):
        return _damaged(name, folder, Sentence("A removal was cut short."))
    if folder.name in (_WORKING, _REPLACED):
        return None
    if folder.name.endswith(_REPLACED):
        return _from_replaced(name, folder)
    job = read_conversion(folder)
    if job is None:
        return None
    return LibraryItem(
        ItemKind.CONVERSION,
        name.removesuffix(_WORKING),
        folder,
        ItemPlace.LIBRARY,
        count_bytes(folder_files(folder)),
        grid=str(job.options.get("grid", "")),
        source=Path(job.source),
    )


def read_conversion(folder: Path) -> Job | None:
    """The job of an interrupted conversion's working folder; None for another folder."""
    if not folder.name.endswith(_WORKING) or folder.name == _WORKING:
        return None
    return WorkDir(folder.with_name(folder.name.removesuffix(_WORKING))).read_job()


def _from_replaced(name: str, folder: Path) -> LibraryItem:
    kept = folder.name.removesuffix(_REPLACED)
    if folder.with_name(kept).exists():
        return _damaged(
            name, folder, Sentence("{kept} replaced it; removing it was cut short.", kept=kept)
        )
    problem = Sentence(
        "{kept} was being replaced when the program was cut short; this is the older one.",
        kept=kept,
    )
    return _damaged(name, folder, problem)
