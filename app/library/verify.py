"""Every byte of an item against the digest that it should have: the manifest's, or the hub's."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from app.checkpoint.manifest import Manifest
from app.checkpoint.tensor_file import hash_file
from app.checkpoint.verification import read_stamps, remember_verified
from app.core.errors import AppError
from app.core.jobs import check_cancelled
from app.core.library_events import (
    BrokenFile,
    ItemKind,
    ItemPlace,
    LibraryItem,
    VerifyFinished,
)
from app.core.sentence import Sentence
from app.core.system_reason import system_reason
from app.download.digests import Digests
from app.hub.client import HubClient
from app.hub.repository import RemoteFile

# Of a file, and how many bytes of it were just read.
OnRead = Callable[[Path, int], None]
_SHA256_DIGITS = 64
_READ_BYTES = 1 << 22


def verify(item: LibraryItem, on_read: OnRead = lambda path, num_bytes: None) -> VerifyFinished:
    """Reads everything. Raises JobCancelledError, and CheckpointError for a manifest that is none.

    Of files in a user's folder nobody knows what they should be: they are `unchecked`. So are
    copies in a hub's cache without links as long as the hub cannot be asked for its digests.
    """
    result = _Result(item, on_read)
    if item.kind in (ItemKind.CHECKPOINT, ItemKind.DAMAGED) and item.place is not ItemPlace.HUB:
        _verify_checkpoint(item, result)
    elif item.place is ItemPlace.HUB:
        _verify_cached(item, result)
    else:
        result.unchecked += [
            Sentence(
                "{file} lies in a plain folder, which says nothing of its digest.", file=file.name
            )
            for file in item.files
        ]
    return result.finish()


@dataclass
class _Result:
    """Grows file by file."""

    item: LibraryItem
    on_read: OnRead
    num_files: int = 0
    num_bytes: int = 0
    broken: list[BrokenFile] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)

    def reader(self, path: Path) -> Callable[[int], None]:
        self.num_files += 1

        def on_read(num_bytes: int) -> None:
            self.num_bytes += num_bytes
            self.on_read(path, num_bytes)

        return on_read

    def add_broken(self, path: Path, reason: str) -> None:
        self.broken.append(BrokenFile(path, reason))

    def add_unread(self, path: Path, error: OSError) -> None:
        reason = system_reason(error)
        self.add_broken(
            path, Sentence("{name} cannot be read ({reason}).", name=path.name, reason=reason)
        )

    def finish(self) -> VerifyFinished:
        return VerifyFinished(
            self.item, self.num_files, self.num_bytes, tuple(self.broken), tuple(self.unchecked)
        )


def _verify_checkpoint(item: LibraryItem, result: _Result) -> None:
    records = Manifest.read(item.path).files
    present = {name: record for name, record in records.items() if (item.path / name).is_file()}
    stamps = read_stamps(item.path, present)
    for name, record in records.items():
        path = item.path / name
        try:
            found = hash_file(path, result.reader(path))
        except OSError as error:
            result.add_unread(path, error)
            continue
        if found != record:
            result.add_broken(
                path,
                Sentence("{name} is damaged: its sha256 is not the manifest's.", name=path.name),
            )
    if not result.broken:
        remember_verified(item.path, stamps)


def _verify_cached(item: LibraryItem, result: _Result) -> None:
    files = item.files or tuple(sorted(p for p in item.path.rglob("*") if p.is_file()))
    files = tuple(file for file in files if "refs" not in file.parent.parts[-2:])
    copies = [file for file in files if _digest_of(file) is None]
    known = _ask_hub(item, copies, result) if copies else {}
    for file in files:
        remote = known.get(file) or _digest_of(file)
        if remote is not None:
            _verify_file(file, remote, result)


def _verify_file(path: Path, remote: RemoteFile, result: _Result) -> None:
    digests, on_read = Digests(remote), result.reader(path)
    try:
        with path.open("rb", buffering=0) as stream:
            while block := stream.read(_READ_BYTES):
                check_cancelled()
                digests.update(block)
                on_read(len(block))
    except OSError as error:
        result.add_unread(path, error)
        return
    if not digests.are_right:
        result.add_broken(
            path, Sentence("{name} is damaged: its digest is not the hub's.", name=path.name)
        )


def _digest_of(path: Path) -> RemoteFile | None:
    """A blob's name is its digest: sha256 of large files, Git's sha1 of the others."""
    blob = path.resolve()
    if blob.parent.name != "blobs" or not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", blob.name):
        return None
    num_bytes = blob.stat().st_size if blob.is_file() else 0
    return RemoteFile(path.name, num_bytes, blob.name, len(blob.name) == _SHA256_DIGITS)


def _ask_hub(item: LibraryItem, copies: list[Path], result: _Result) -> dict[Path, RemoteFile]:
    """Digests of copies that carry none, as the hub lists them."""
    if not item.commit:
        result.unchecked += [
            Sentence("{file} carries no digest.", file=file.name) for file in copies
        ]
        return {}
    root = next(p for p in copies[0].parents if p.name == item.commit)
    try:
        listed = HubClient().repository(item.repo_id, item.commit).files
    except AppError as error:
        result.unchecked += [
            Sentence("{file}: {reason}", file=file.name, reason=error.message) for file in copies
        ]
        return {}
    by_name = {file.path: file for file in listed}
    found = {f: by_name.get(f.relative_to(root).as_posix()) for f in copies}
    result.unchecked += [
        Sentence("{file} is not the hub's.", file=file.name)
        for file, remote in found.items()
        if not remote
    ]
    return {file: remote for file, remote in found.items() if remote}
