"""The library to another folder: renamed on the same volume, else copied, compared, then removed.

What is on the way is recorded in the program's home, so that a killed move is known and goes on
where it was. A checkpoint is whole in one of the two folders at any moment.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.checkpoint.last_used import last_uses
from app.checkpoint.manifest import MANIFEST_NAME
from app.checkpoint.tensor_file import hash_file
from app.checkpoint.verification import verified
from app.core.errors import InUseError, RoomError, StorageError, UsageError
from app.core.holds import find_purpose, held, read_holds
from app.core.jobs import check_cancelled
from app.core.json_file import read_json, write_json
from app.core.paths import home_dir
from app.core.sentence import Sentence
from app.core.system_reason import refused, system_reason
from app.core.units import format_bytes
from app.hub.library import UNFINISHED, iter_entries
from app.library.copying import copy_file
from app.library.own_items import REMOVED_PREFIX, read_conversion
from app.library.removal import delete_folder
from app.library.sizes import count_bytes, folder_files

_SPARE_BYTES = 64 << 20
_ON_THE_WAY = ".moving-"

# Name, bytes moved so far, bytes of all.
OnProgress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class _Unit:
    """A checkpoint, or the working folder of an interrupted conversion."""

    name: str
    source: Path
    target: Path
    num_bytes: int


def move_library(source: Path, target: Path, on_progress: OnProgress) -> tuple[str, ...]:
    """Moves all checkpoints and interrupted conversions; returns their names. Other files stay.

    Repeated after a kill or a cancel it goes on. Raises UsageError for folders that cannot be meant
    and names that are taken, ResourceError for what is in use, for too little room and for what
    the system refuses. `forget_move` ends it, once the new folder is the library's.
    """
    source, target = source.absolute(), target.absolute()
    _check_folders(source, target)
    units = _find_units(source, target)
    _check_units(units, is_resumed=_read_journal() == (source, target))
    _check_room(source, target, units)
    _write_journal(source, target)
    with held(source, Sentence("being moved")), held(target, Sentence("being moved")):
        try:
            _move_all(units, on_progress)
            _clean(source)
        except OSError as error:
            name = Path(error.filename).name if error.filename else target.name
            raise refused(
                error,
                Sentence(
                    "{name} could not be moved ({reason}); what is moved already stays in "
                    "{target}, and the move can go on.",
                    name=name,
                    reason=system_reason(error),
                    target=target,
                ),
            ) from error
    return tuple(unit.name for unit in units)


def find_interrupted_target() -> Path | None:
    """Where a move that was cut short was going."""
    journal = _read_journal()
    return journal[1] if journal else None


def forget_move() -> None:
    """The move is over: the library is said to be in its new folder."""
    with contextlib.suppress(OSError):
        _journal_path().unlink(missing_ok=True)


def _move_all(units: list[_Unit], on_progress: OnProgress) -> None:
    total, done = sum(unit.num_bytes for unit in units), 0
    for unit in units:
        check_cancelled()
        on_progress(unit.name, done, total)
        before = done

        def tell(num_bytes: int, before: int = before, name: str = unit.name) -> None:
            on_progress(name, before + num_bytes, total)

        _move(unit, tell)
        done = before + unit.num_bytes
        on_progress(unit.name, done, total)


def _move(unit: _Unit, tell: Callable[[int], None]) -> None:
    unit.target.parent.mkdir(parents=True, exist_ok=True)
    if not unit.target.exists():
        try:
            unit.source.rename(unit.target)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            _copy(unit, tell)
    for memory in (verified, last_uses):
        memory.move(unit.source, unit.target)
    if unit.source.exists():
        delete_folder(unit.source)


def _copy(unit: _Unit, tell: Callable[[int], None]) -> None:
    """Under another name until it is whole; what a killed copy left is compared and kept."""
    aside = unit.target.with_name(_ON_THE_WAY + unit.target.name)
    wanted, done = folder_files(unit.source), 0
    for file in wanted:
        place = aside / file.relative_to(unit.source)
        place.parent.mkdir(parents=True, exist_ok=True)
        _copy_verified(file, place)
        done += file.stat().st_size
        tell(done)
    for folder, _, _ in os.walk(unit.source):  # a working folder may hold empty ones
        (aside / Path(folder).relative_to(unit.source)).mkdir(parents=True, exist_ok=True)
    for file in folder_files(aside):
        if unit.source / file.relative_to(aside) not in wanted:
            file.unlink()
    aside.rename(unit.target)


def _copy_verified(source: Path, target: Path) -> None:
    """ResourceError when what was written is not what was read."""
    is_as_long = target.is_file() and target.stat().st_size == source.stat().st_size
    if is_as_long and hash_file(target) == hash_file(source):
        return
    record = copy_file(source, target)
    if hash_file(target) != record:
        raise StorageError(
            "{name} was not written as it was read; {folder} cannot be trusted.",
            name=target.name,
            folder=target.parent,
        )


def _find_units(source: Path, target: Path) -> list[_Unit]:
    folders = {entry.path for entry in iter_entries(source)}
    for directory, subfolders, _ in os.walk(source):
        for name in [name for name in subfolders if UNFINISHED.fullmatch(name)]:
            subfolders.remove(name)
            folder = Path(directory) / name
            if read_conversion(folder) is not None:
                folders.add(folder)
    units = []
    for folder in sorted(folders):
        place = folder.relative_to(source)
        size = count_bytes(folder_files(folder))
        units.append(_Unit(place.as_posix(), folder, target / place, size))
    return units


def _check_folders(source: Path, target: Path) -> None:
    inner, outer = target.resolve(), source.resolve()
    if inner == outer:
        raise UsageError("The library is in {target} already.", target=target)
    if outer in inner.parents:
        raise UsageError(
            "{target} is inside the library itself; choose another folder.", target=target
        )
    if target.exists() and not target.is_dir():
        raise UsageError("{target} is a file, not a folder.", target=target)


def _check_units(units: list[_Unit], *, is_resumed: bool) -> None:
    holds = read_holds()
    for unit in units:
        if purpose := find_purpose(unit.source, holds):
            raise InUseError(
                "{name} is {purpose} right now; nothing was moved.", name=unit.name, purpose=purpose
            )
        is_arrived = is_resumed and _is_same(unit)
        if unit.target.exists() and not is_arrived:
            raise UsageError("{target} is there already; nothing was moved.", target=unit.target)


def _is_same(unit: _Unit) -> bool:
    """Whether a killed move had copied it and only not removed the source yet."""
    try:
        manifests = [(p / MANIFEST_NAME).read_bytes() for p in (unit.source, unit.target)]
    except OSError:
        return False
    return manifests[0] == manifests[1]


def _check_room(source: Path, target: Path, units: list[_Unit]) -> None:
    volume = next(p for p in (target, *target.parents) if p.exists())
    if not units or _is_same_volume(volume, source):
        return
    there = count_bytes(f for f in folder_files(target) if _ON_THE_WAY in str(f))
    needed = sum(unit.num_bytes for unit in units if not unit.target.exists()) - there
    free = shutil.disk_usage(volume).free
    if needed + _SPARE_BYTES > free:
        raise RoomError(
            "The library takes {needed}, and {spare} must stay free; {volume} has {free}.",
            needed=format_bytes(needed),
            spare=format_bytes(_SPARE_BYTES),
            volume=volume,
            free=format_bytes(free),
        )


def _is_same_volume(first: Path, second: Path) -> bool:
    return first.stat().st_dev == second.stat().st_dev


def _clean(folder: Path) -> None:
    """Takes away what a killed move had begun to remove, and folders that are empty now."""
    for directory, subfolders, _ in os.walk(folder):
        for name in [name for name in subfolders if name.startswith(REMOVED_PREFIX)]:
            subfolders.remove(name)
            delete_folder(Path(directory) / name)
    for directory, _, _ in os.walk(folder, topdown=False):
        with contextlib.suppress(OSError):
            Path(directory).rmdir()


def _journal_path() -> Path:
    return home_dir() / "library-move.json"


def _read_journal() -> tuple[Path, Path] | None:
    try:
        values = read_json(_journal_path())
        return Path(values["source"]), Path(values["target"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write_journal(source: Path, target: Path) -> None:
    path = _journal_path()
    try:
        write_json(path, {"source": str(source), "target": str(target)})
    except OSError as error:
        raise refused(
            error,
            Sentence(
                "The move cannot be recorded in {folder} ({reason}); nothing was moved.",
                folder=path.parent,
                reason=system_reason(error),
            ),
        ) from error
