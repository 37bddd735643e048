"""The library: native checkpoints below one folder; a name in it is a folder relative to that."""

from __future__ import annotations

import logging
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.checkpoint.manifest import MANIFEST_NAME, Manifest
from app.core.errors import CheckpointError, UsageError

# Separators and what Windows forbids in names.
_NOT_IN_NAMES = re.compile(r'[\x00-\x1f<>:"/\\|?*]+')
_MAX_SAME_NAMES = 1000
# Conversions under way and replacements cut short (`app.converter`), removals cut short.
_UNFINISHED = re.compile(r"\..*|.*\.(partial|replaced)")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LibraryEntry:
    """One checkpoint. `name` uses forward slashes; `source_*` tell what it was converted from."""

    name: str
    path: Path
    architecture: str
    source_format: str
    source_name: str
    source_bytes: int
    total_bytes: int
    is_lossless: bool


def list_entries(library_dir: Path) -> tuple[LibraryEntry, ...]:
    """All checkpoints whose manifest can be read, sorted by name; the log names damaged ones."""
    return tuple(sorted(_iter_entries(library_dir), key=lambda entry: entry.name.casefold()))


def resolve(name_or_path: str | Path, library_dir: Path) -> Path | None:
    """The native folder meant: a path that is one, or a name in the library; None when neither."""
    path = Path(name_or_path)
    if _is_native(path):
        return path
    entry_dir = library_dir / path
    return entry_dir if _is_inside(entry_dir, library_dir) and _is_native(entry_dir) else None


def find_by_source(library_dir: Path, name: str, num_bytes: int) -> LibraryEntry | None:
    """A checkpoint that was converted from a source of this file name and size."""
    entries = list_entries(library_dir)
    return next((e for e in entries if (e.source_name, e.source_bytes) == (name, num_bytes)), None)


def choose_output(library_dir: Path, name: str) -> Path:
    """A free folder of the library for a checkpoint called `name`, valid on every system."""
    plain = _NOT_IN_NAMES.sub("-", name).strip(" .-") or "model"
    candidates = (plain, *(f"{plain}-{number}" for number in range(2, _MAX_SAME_NAMES)))
    return next(library_dir / name for name in candidates if not (library_dir / name).exists())


def remove(name: str, library_dir: Path) -> LibraryEntry:
    """Deletes a checkpoint and returns what it was.

    Raises UsageError for a name outside the library or one that holds more than a checkpoint,
    CheckpointError for a folder that is none.
    """
    directory = library_dir / name
    if not _is_inside(directory, library_dir):
        raise UsageError(f"{name} is not a name in the library.")
    if not _is_native(directory):
        raise CheckpointError(
            f"{name} is not a native checkpoint in the library; nothing was removed."
        )
    entry = _read_entry(directory, library_dir)
    if any(child.is_dir() for child in directory.iterdir()):
        raise UsageError(
            f"{name} holds folders that are not part of a checkpoint; nothing was removed."
        )
    _delete(directory)
    return entry


def _delete(directory: Path) -> None:
    # Renamed first, so that a deletion that is cut short leaves no half checkpoint in the list.
    doomed = directory.with_name(f".removed-{directory.name}-{os.getpid()}")
    directory.rename(doomed)
    shutil.rmtree(doomed)


def _iter_entries(library_dir: Path) -> Iterator[LibraryEntry]:
    for directory, subfolders, files in os.walk(library_dir):
        subfolders[:] = [name for name in subfolders if not _UNFINISHED.fullmatch(name)]
        if MANIFEST_NAME in files:
            try:
                yield _read_entry(Path(directory), library_dir)
            except CheckpointError as error:
                _log.warning("%s is left out of the library: %s", directory, error.message)


def _read_entry(directory: Path, library_dir: Path) -> LibraryEntry:
    manifest = Manifest.read(directory)
    return LibraryEntry(
        name=directory.relative_to(library_dir).as_posix(),
        path=directory,
        architecture=manifest.architecture,
        source_format=manifest.source.format,
        source_name=manifest.source.name,
        source_bytes=manifest.source.num_bytes,
        total_bytes=sum(record.num_bytes for record in manifest.files.values()),
        is_lossless=manifest.is_lossless,
    )


def _is_native(directory: Path) -> bool:
    return (directory / MANIFEST_NAME).is_file()


def _is_inside(directory: Path, library_dir: Path) -> bool:
    inner, outer = directory.resolve(), library_dir.resolve()
    return inner != outer and inner.is_relative_to(outer)
