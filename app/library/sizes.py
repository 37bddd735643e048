"""Bytes on the disk: each counted once, however many names lead to it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


class ByteCount:
    """Counts files into one sum; a file that was counted before, by whatever name, adds nothing."""

    def __init__(self) -> None:
        self._seen: set[tuple[int, int]] = set()

    def add(self, paths: Iterable[Path]) -> int:
        """The bytes that these files add; links are followed, what is gone counts nothing."""
        return sum(self._add(path) for path in paths)

    def has_seen(self, path: Path) -> bool:
        """Whether this file's bytes are counted already."""
        try:
            status = path.stat()
        except OSError:
            return False
        return (status.st_dev, status.st_ino) in self._seen

    def _add(self, path: Path) -> int:
        try:
            status = path.stat()
        except OSError:
            return 0
        key = (status.st_dev, status.st_ino)
        if key in self._seen:
            return 0
        self._seen.add(key)
        return status.st_size


def folder_files(folder: Path) -> tuple[Path, ...]:
    """All files below a folder; folders that are closed to us hold none."""
    return tuple(
        Path(directory) / name for directory, _, names in os.walk(folder) for name in names
    )


def count_bytes(paths: Iterable[Path]) -> int:
    """Of files on their own."""
    return ByteCount().add(paths)
