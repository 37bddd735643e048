"""All that belongs to models on this disk: first names and sizes, then what each of it is."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from app.core.jobs import check_cancelled
from app.core.library_events import ItemKind, LibraryItem, LibraryScanned, VolumeSpace
from app.library.context import Context
from app.library.folder_items import iter_folder_items
from app.library.free_up import suggest
from app.library.hub_cache import hub_cache_dir, iter_repos
from app.library.hub_items import iter_hub_items
from app.library.move import find_interrupted_target
from app.library.own_items import iter_own_items

_TICK_S = 0.4

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Roots:
    """Where to look. `cache_dir` None is the standard cache of the hub."""

    library_dir: Path
    folders: tuple[Path, ...] = ()
    cache_dir: Path | None = None


def scan(
    roots: Roots, listener: Callable[[LibraryScanned], None] = lambda event: None
) -> LibraryScanned:
    """Reads no weights. The listener hears what is found so far, at most a few times a second.

    Raises JobCancelledError; what cannot be read is an item with a problem.
    """
    context, items, told_s = Context(), dict[str, LibraryItem](), time.monotonic()
    space = volume_space(roots.library_dir)

    def tell() -> None:
        nonlocal told_s
        if time.monotonic() - told_s >= _TICK_S:
            listener(LibraryScanned(tuple(items.values()), space, is_complete=False))
            told_s = time.monotonic()

    for item in _iter_items(roots, context):
        check_cancelled()
        items.setdefault(item.key, item)
        tell()
    listener(LibraryScanned(tuple(items.values()), space, is_complete=False))
    for key, item in list(items.items()):
        check_cancelled()
        if item.kind is ItemKind.SOURCE:
            found = context.recogniser.recognise(item.path, item.files)
            items[key] = context.described(item, found)
            tell()
    context.recogniser.save()
    everything = tuple(items.values())
    return LibraryScanned(
        everything, space, True, suggest(everything, time.time()), find_interrupted_target()
    )


def volume_space(path: Path) -> VolumeSpace:
    """Of the volume on which `path` is, or will be; without room where a drive is not there."""
    there = next((p for p in (path, *path.absolute().parents) if p.exists()), None)
    if there is None:  # Windows: a letter that belongs to nothing now
        return VolumeSpace(path, 0, 0)
    usage = shutil.disk_usage(there)
    return VolumeSpace(there, usage.free, usage.total)


def _iter_items(roots: Roots, context: Context) -> Iterator[LibraryItem]:
    repos = iter_repos(roots.cache_dir or hub_cache_dir())
    return chain(
        iter_own_items(roots.library_dir, context),
        chain.from_iterable(iter_hub_items(repo, context) for repo in repos),
        chain.from_iterable(iter_folder_items(folder, context) for folder in roots.folders),
    )
