"""Hashes of a checkpoint's files, computed once as long as nobody touches them.

Hashing takes longer than loading. What was found sound is remembered by folder: each file's size,
times and inode, and the hash that they stand for. A change to any of them, or to the manifest's
hash, leads to hashing again; so does a file so young that a write in the same tick of the file
system's clock would not show.
"""

from __future__ import annotations

import contextvars
import os
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from app.checkpoint.tensor_file import FileRecord, hash_file
from app.core.errors import CheckpointError
from app.core.path_memory import PathMemory

verified = PathMemory("verified.json")
_MAX_WORKERS = 4
_SETTLED_NS = 2_000_000_000  # FAT's clock, the slowest, ticks every two seconds

Stamps = dict[str, list[Any]]


def verify_files(directory: Path, records: Mapping[str, FileRecord]) -> None:
    """Raises CheckpointError naming a file whose sha256 is not its record's."""
    stamps = read_stamps(directory, records)
    if verified.find(directory) == stamps:
        return
    _hash_all(directory, records)
    remember_verified(directory, stamps)


def read_stamps(directory: Path, records: Mapping[str, FileRecord]) -> Stamps:
    """What tells, without reading them, whether files have changed since; OSError of one."""
    return {name: _stamp(directory / name, record) for name, record in records.items()}


def is_verified(directory: Path, records: Mapping[str, FileRecord]) -> bool:
    """Whether the files were found sound, and nobody touched them since; reads none of them."""
    try:
        return bool(verified.find(directory) == read_stamps(directory, records))
    except OSError:
        return False


def remember_verified(directory: Path, stamps: Stamps) -> None:
    """The files were found sound; `stamps` were read before their bytes were."""
    if all(_is_settled(stamp) for stamp in stamps.values()):
        verified.remember(directory, stamps)


def _stamp(path: Path, record: FileRecord) -> list[Any]:
    status = os.stat(path)
    return [status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, record.sha256]


def _is_settled(stamp: list[Any]) -> bool:
    return bool(max(stamp[:2]) + _SETTLED_NS < time.time_ns())


def _hash_all(directory: Path, records: Mapping[str, FileRecord]) -> None:
    """Several files at a time; hashing releases the GIL."""
    with ThreadPoolExecutor(min(_MAX_WORKERS, os.cpu_count() or 1)) as pool:
        # A context for each, so that a cancelled job is noticed on the pool's threads too.
        hashes = {
            name: pool.submit(contextvars.copy_context().run, hash_file, directory / name)
            for name in records
        }
        for name, future in hashes.items():
            if future.result() != records[name]:
                raise CheckpointError(
                    "{name} is damaged: its sha256 is not the manifest's.", name=name
                )
