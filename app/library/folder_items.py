"""Models in folders that the user named; nothing there is ours, so nothing is moved about."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from app.converter.sources.gguf_shards import model_name
from app.core.library_events import ItemKind, ItemPlace, LibraryItem
from app.core.sentence import Sentence
from app.core.system_reason import system_reason
from app.download.partial import SUFFIX
from app.hub.library import LibraryEntry, iter_entries
from app.library.context import Context
from app.library.models_in import find_models
from app.library.own_items import from_entry
from app.library.sizes import count_bytes


def iter_folder_items(folder: Path, context: Context) -> Iterator[LibraryItem]:
    """Native checkpoints, sources and what has not arrived; a closed folder is one damaged item."""
    files, problems = _walk(folder)
    for path, problem in problems:
        yield LibraryItem(ItemKind.DAMAGED, path.name, path, ItemPlace.FOLDER, 0, problem=problem)
    for entry in iter_entries(folder):
        if isinstance(entry, LibraryEntry):
            context.add_entry(entry)
            yield from_entry(entry, context)
    for model in find_models(files):
        name = model_name(model.path) if model.is_gguf else model.path.name
        yield _source(name, model.path, model.files, context)
    partials = tuple(file for file in files if file.name.endswith(SUFFIX))
    for partial in partials:
        name, size_bytes = partial.name.removesuffix(SUFFIX), count_bytes((partial,))
        item = LibraryItem(
            ItemKind.DOWNLOAD, name, partial, ItemPlace.FOLDER, size_bytes, files=(partial,)
        )
        yield context.with_use(item, (partial,))


def _source(name: str, path: Path, files: tuple[Path, ...], context: Context) -> LibraryItem:
    item = LibraryItem(
        ItemKind.SOURCE, name, path, ItemPlace.FOLDER, count_bytes(files), files=files
    )
    item = context.with_use(item, files)
    found = context.recogniser.find(path, files)
    return context.described(item, found) if found else item


def _walk(folder: Path) -> tuple[list[Path], list[tuple[Path, str]]]:
    """Files below, and folders that are gone or closed with a sentence each."""
    problems: list[tuple[Path, str]] = []

    def note(error: OSError) -> None:
        path = Path(error.filename)
        problems.append(
            (
                path,
                Sentence(
                    "{name} cannot be read ({reason}).", name=path.name, reason=system_reason(error)
                ),
            )
        )

    files = []
    for directory, subfolders, names in os.walk(folder, onerror=note):
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        files += [Path(directory) / name for name in names]
    return files, problems
