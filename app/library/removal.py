"""Removing an item without breaking another: what goes is decided on the disk as it is now."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from app.core.errors import InUseError, UsageError
from app.core.holds import find_purpose, read_holds
from app.core.library_events import ItemKind, ItemPlace, LibraryItem, Removed
from app.core.sentence import Sentence
from app.core.system_reason import refused, system_reason
from app.library.hub_cache import CachedRepo, read_repo
from app.library.models_in import WEIGHT_SUFFIXES
from app.library.own_items import REMOVED_PREFIX
from app.library.sizes import count_bytes, folder_files
from app.library.trash import Trash


@dataclass(frozen=True, slots=True)
class RemovalPlan:
    """`paths` go; `links` are names of theirs, which go, too. num_bytes: what that frees."""

    paths: tuple[Path, ...]
    links: tuple[Path, ...] = ()
    num_bytes: int = 0


def plan_removal(item: LibraryItem) -> RemovalPlan:
    """What has to go. Blobs that another revision needs stay.

    Raises ResourceError for what is in use, UsageError for what holds more than a model.
    """
    _check_is_free(item)
    if item.place is ItemPlace.HUB:
        plan = _plan_in_hub(item, read_repo(find_repo(item.path)))
    elif item.place is ItemPlace.FOLDER and item.kind is not ItemKind.CHECKPOINT:
        plan = _plan_in_folder(item)
    else:
        if item.kind is ItemKind.CHECKPOINT and any(p.is_dir() for p in item.path.iterdir()):
            raise UsageError(
                "{name} holds folders that are not part of a checkpoint; nothing was removed.",
                name=item.name,
            )
        plan = RemovalPlan((item.path,))
    files = [f for path in plan.paths for f in (folder_files(path) if path.is_dir() else (path,))]
    return RemovalPlan(plan.paths, plan.links, count_bytes(files))


def remove(item: LibraryItem, plan: RemovalPlan, trash: Trash | None) -> Removed:
    """Carries a plan out; `trash` None deletes for good.

    Raises TrashMissingError with nothing removed, ResourceError for what the system refuses.
    """
    links = tuple((link, os.readlink(link)) for link in plan.links)
    put: Callable[[Path], None] = trash.put if trash else _delete_for_good
    for path in plan.paths:
        put(path)
    for link, _ in links:
        link.unlink(missing_ok=True)
    _drop_empty_folders(item)
    return Removed(item, plan.paths if trash else (), links)


def restore(removed: Removed, trash: Trash) -> None:
    """Brings back what `remove` moved to the trash, and its links; ResourceError."""
    for path in removed.trashed:
        trash.restore(path)
    for link, target in removed.links:
        link.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            link.symlink_to(target)


def find_repo(path: Path) -> Path:
    """The repository's folder in the cache that holds `path`."""
    for folder in (path, *path.parents):
        if "--" in folder.name and any((folder / name).is_dir() for name in ("snapshots", "blobs")):
            return folder
    raise UsageError("{path} is not in the hub's cache.", path=path)


def _plan_in_hub(item: LibraryItem, repo: CachedRepo) -> RemovalPlan:
    going = set(item.files)
    if item.path == repo.path and item.kind is not ItemKind.DOWNLOAD:
        return RemovalPlan((repo.path,))
    if not _has_other_weights(repo, going):
        return RemovalPlan((repo.path,))
    if item.kind is ItemKind.DOWNLOAD:
        return RemovalPlan(item.files)
    kept = {f.resolve() for s in repo.snapshots for f in s.files if f not in going}
    links = tuple(file for file in item.files if file.is_symlink())
    targets = {file.resolve() for file in item.files} - kept
    return RemovalPlan(tuple(sorted(path for path in targets if path.exists())), links)


def _has_other_weights(repo: CachedRepo, going: set[Path]) -> bool:
    """Whether the repository holds more than what goes and small files beside it."""
    files = [file for snapshot in repo.snapshots for file in snapshot.files]
    left = [file for file in (*files, *repo.partials) if file not in going]
    return any(f.suffix.lower() in WEIGHT_SUFFIXES or f in repo.partials for f in left)


def _plan_in_folder(item: LibraryItem) -> RemovalPlan:
    """A model's files, and its folder where that holds nothing else."""
    if not item.files:
        raise UsageError("{path} is a folder of yours; nothing was removed.", path=item.path)
    is_whole = item.path.is_dir() and set(item.path.iterdir()) == set(item.files)
    return RemovalPlan((item.path,) if is_whole else item.files)


def _check_is_free(item: LibraryItem) -> None:
    holds = read_holds()
    for path in (item.path, *item.files):
        if purpose := find_purpose(path, holds):
            raise InUseError(
                "{name} is {purpose} right now; nothing was removed.",
                name=item.name,
                purpose=purpose,
            )
    if item.place is ItemPlace.HUB and is_downloading(read_repo(find_repo(item.path))):
        raise InUseError(
            "{name} is being downloaded right now; nothing was removed.", name=item.name
        )


def is_downloading(repo: CachedRepo) -> bool:
    """Whether any program holds the lock of one of the repository's files."""
    return any(_is_locked(lock) for lock in sorted(repo.locks.glob("*.lock")))


def _is_locked(path: Path) -> bool:
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    except OSError:
        return False
    lock.release()
    return False


def _delete_for_good(path: Path) -> None:
    try:
        if path.is_dir() and not path.is_symlink():
            delete_folder(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise refused(
            error,
            Sentence(
                "{name} could not be deleted ({reason}).",
                name=path.name,
                reason=system_reason(error),
            ),
        ) from error


def delete_folder(path: Path) -> None:
    """For good, renamed first: a deletion that is cut short leaves no half checkpoint. OSError."""
    doomed = path
    if not path.name.startswith(REMOVED_PREFIX):
        doomed = path.with_name(f"{REMOVED_PREFIX}{path.name}-{os.getpid()}")
        path.rename(doomed)
    shutil.rmtree(doomed)


def _drop_empty_folders(item: LibraryItem) -> None:
    """Of a snapshot that has nothing left, up to the folder of all snapshots."""
    if item.place is not ItemPlace.HUB:
        return
    for file in item.files:
        for folder in file.parents:
            if folder.name in ("snapshots", "blobs"):
                break
            try:
                folder.rmdir()
            except OSError:
                break
