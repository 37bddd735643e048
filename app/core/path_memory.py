"""Small facts about folders and files, kept in the program's home by their resolved path."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.core.json_file import read_json, write_json
from app.core.paths import home_dir


class PathMemory:
    """One JSON file. What cannot be read is forgotten; what cannot be written is found out anew."""

    def __init__(self, file_name: str) -> None:
        self._file_name = file_name

    def read(self) -> dict[str, Any]:
        """Everything that is remembered."""
        try:
            memory = read_json(home_dir() / self._file_name)
        except (OSError, ValueError):
            return {}
        return memory if isinstance(memory, dict) else {}

    def find(self, path: Path) -> Any:
        """What is remembered of one path; None for nothing."""
        return self.read().get(_key(path))

    def remember(self, path: Path, value: Any) -> None:
        """Replaces what is known of one path, and forgets paths that are gone."""
        self.remember_all({_key(path): value})

    def remember_all(self, values: Mapping[str, Any]) -> None:
        """The same for several, by `str(path.resolve())`."""
        kept = {path: value for path, value in self.read().items() if os.path.exists(path)}
        self._write({**kept, **values})

    def move(self, old: Path, new: Path) -> None:
        """`old`, and what lies in it, is known as `new` from now on."""
        before, after = _key(old), _key(new)
        moved = {}
        for path, value in self.read().items():
            is_inside = path == before or path.startswith(before + os.sep)
            moved[after + path[len(before) :] if is_inside else path] = value
        self._write(moved)

    def _write(self, memory: Mapping[str, Any]) -> None:
        with contextlib.suppress(OSError):
            write_json(home_dir() / self._file_name, memory)


def _key(path: Path) -> str:
    return str(path.resolve())
