"""The library: native checkpoints below one folder; a name in it is a folder relative to that."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.checkpoint.bits_label import bits_label
from app.checkpoint.manifest import MANIFEST_NAME, Manifest
from app.checkpoint.verification import is_verified
from app.core.errors import CheckpointError
from app.core.system_reason import system_reason

# Separators and what Windows forbids in names.
_NOT_IN_NAMES = re.compile(r'[\x00-\x1f<>:"/\\|?*]+')
_MAX_SAME_NAMES = 1000
# Conversions under way and replacements cut short (`app.converter`), removals cut short.
UNFINISHED = re.compile(r"\..*|.*\.(partial|replaced)")

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
    grid: str = ""
    is_verified: bool = False


@dataclass(frozen=True, slots=True)
class DamagedEntry:
    """A folder that has a manifest and is no checkpoint; `problem` is a sentence."""

    name: str
    path: Path
    problem: str


def list_entries(library_dir: Path) -> tuple[LibraryEntry, ...]:
    """All checkpoints whose manifest can be read, sorted by name; the log names damaged ones."""
    entries = []
    for entry in iter_entries(library_dir):
        if isinstance(entry, DamagedEntry):
            _log.warning("%s is left out of the library: %s", entry.path, entry.problem)
        else:
            entries.append(entry)
    return tuple(sorted(entries, key=lambda entry: entry.name.casefold()))


def iter_entries(library_dir: Path) -> Iterator[LibraryEntry | DamagedEntry]:
    """All checkpoints below a folder in no order, and the folders that claim to be one."""
    for directory, subfolders, files in os.walk(library_dir):
        subfolders[:] = [name for name in subfolders if not UNFINISHED.fullmatch(name)]
        if MANIFEST_NAME in files:
            yield _read_entry(Path(directory), library_dir)


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


def require_entry(name: str, library_dir: Path) -> LibraryEntry:
    """The checkpoint of this name; CheckpointError where there is none, or a damaged one."""
    directory = library_dir / name
    if not _is_inside(directory, library_dir) or not _is_native(directory):
        raise CheckpointError("{name} is not a name in the library.", name=name)
    entry = _read_entry(directory, library_dir)
    if isinstance(entry, DamagedEntry):
        raise CheckpointError("{name} is damaged: {problem}", name=name, problem=entry.problem)
    return entry


def _read_entry(directory: Path, library_dir: Path) -> LibraryEntry | DamagedEntry:
    name = directory.relative_to(library_dir).as_posix()
    try:
        manifest = Manifest.read(directory)
        is_sound = is_verified(directory, manifest.files)
        if not is_sound:
            _check_sizes(directory, manifest)
    except CheckpointError as error:
        return DamagedEntry(name, directory, error.message)
    return LibraryEntry(
        name=name,
        path=directory,
        architecture=manifest.architecture,
        source_format=manifest.source.format,
        source_name=manifest.source.name,
        source_bytes=manifest.source.num_bytes,
        total_bytes=sum(record.num_bytes for record in manifest.files.values()),
        is_lossless=manifest.is_lossless,
        grid=bits_label(manifest),
        is_verified=is_sound,
    )


def _check_sizes(directory: Path, manifest: Manifest) -> None:
    """Raises CheckpointError for a file that is missing or of another size; reads none."""
    for name, record in manifest.files.items():
        try:
            num_bytes = (directory / name).stat().st_size
        except OSError as error:
            raise CheckpointError(
                "{name} cannot be read ({reason}).", name=name, reason=system_reason(error)
            ) from error
        if num_bytes != record.num_bytes:
            raise CheckpointError(
                "{name} has {num_bytes:,} bytes, not {expected:,}.",
                name=name,
                num_bytes=num_bytes,
                expected=record.num_bytes,
            )


def _is_native(directory: Path) -> bool:
    return (directory / MANIFEST_NAME).is_file()


def _is_inside(directory: Path, library_dir: Path) -> bool:
    inner, outer = directory.resolve(), library_dir.resolve()
    return inner != outer and inner.is_relative_to(outer)
