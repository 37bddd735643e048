"""What one repository in the hub's cache is made of, each byte in one item only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from app.converter.sources.gguf_shards import model_name
from app.core.library_events import ItemKind, ItemPlace, LibraryItem
from app.core.sentence import Sentence
from app.library.context import Context
from app.library.hub_cache import CachedRepo, Snapshot
from app.library.models_in import find_models
from app.library.sizes import ByteCount, count_bytes, folder_files


def iter_hub_items(repo: CachedRepo, context: Context) -> Iterator[LibraryItem]:
    """Models of current revisions, older revisions, what has not arrived, and what is left."""
    if repo.problem:
        yield _whole(repo, ItemKind.DAMAGED, problem=repo.problem)
        return
    counted, has_item = ByteCount(), False
    for snapshot in repo.snapshots:
        if repo.has_refs and not snapshot.refs:
            item = _older(repo, snapshot, counted)
            yield context.with_use(item, item.files)
            continue
        for item in _models(repo, snapshot, counted, context):
            has_item = True
            yield item
    if repo.partials:
        item = _partial(repo)
        yield context.with_use(item, repo.partials)
    if not has_item and not repo.partials:
        item = _whole(repo, ItemKind.OTHER)
        yield context.with_use(item, folder_files(repo.path))


def _models(
    repo: CachedRepo, snapshot: Snapshot, counted: ByteCount, context: Context
) -> Iterator[LibraryItem]:
    """Those whose weights no other revision has shown already."""
    lost = set(snapshot.broken_links)
    if lost:
        item = _item(repo, snapshot, ItemKind.DAMAGED, repo.repo_id, snapshot.path, tuple(lost))
        names = ", ".join(sorted(path.name for path in lost))
        yield replace(item, problem=Sentence("The bytes of {names} are gone.", names=names))
    files = [file for file in snapshot.files if file not in lost]
    for model in find_models(files):
        if repo.kind != "models" or all(counted.has_seen(file) for file in model.files):
            continue
        name = model_name(model.path) if model.is_gguf else repo.repo_id
        item = _item(repo, snapshot, ItemKind.SOURCE, name, model.path, model.files)
        item = replace(item, size_bytes=counted.add(model.files))
        item = context.with_use(item, model.files)
        found = context.recogniser.find(model.path, model.files)
        yield context.described(item, found) if found else item


def _older(repo: CachedRepo, snapshot: Snapshot, counted: ByteCount) -> LibraryItem:
    item = _item(repo, snapshot, ItemKind.OTHER, repo.repo_id, snapshot.path, snapshot.files)
    return replace(item, size_bytes=counted.add(snapshot.files))


def _partial(repo: CachedRepo) -> LibraryItem:
    return LibraryItem(
        ItemKind.DOWNLOAD,
        repo.repo_id,
        repo.path,
        ItemPlace.HUB,
        count_bytes(repo.partials),
        files=repo.partials,
        repo_id=repo.repo_id,
    )


def _whole(repo: CachedRepo, kind: ItemKind, problem: str = "") -> LibraryItem:
    return LibraryItem(
        kind,
        repo.repo_id,
        repo.path,
        ItemPlace.HUB,
        count_bytes(folder_files(repo.path)),
        repo_id=repo.repo_id,
        problem=problem,
    )


def _item(
    repo: CachedRepo,
    snapshot: Snapshot,
    kind: ItemKind,
    name: str,
    path: Path,
    files: tuple[Path, ...],
) -> LibraryItem:
    return LibraryItem(
        kind,
        name,
        path,
        ItemPlace.HUB,
        0,
        files=files,
        repo_id=repo.repo_id,
        commit=snapshot.commit,
        refs=snapshot.refs,
    )
