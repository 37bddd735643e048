"""What a source is, found out by opening it as a conversion would, once until it is touched.

Opening reads headers and names, no weights; of a large vocabulary that still takes a tenth of a
second, so what was found is remembered.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from app import __version__
from app.converter.sources.base import Source
from app.converter.sources.detect import open_source
from app.core.errors import AppError, InvalidSourceError
from app.core.path_memory import PathMemory
from app.core.sentence import Sentence
from app.core.system_reason import system_reason


@dataclass(frozen=True, slots=True)
class Recognised:
    """`name` and `num_bytes` are what a checkpoint's manifest says of its source.

    grid: the type of most of its bytes (`Q4_K`), or the method of a folder (`gptq`). With a
    `problem` it cannot be converted; `is_damaged` tells apart what is broken from what is refused.
    """

    name: str = ""
    num_bytes: int = 0
    architecture: str = ""
    grid: str = ""
    problem: str = ""
    is_damaged: bool = False


class Recogniser:
    """Remembers what it has opened; `save` keeps it for the next start."""

    def __init__(self) -> None:
        self._memory = PathMemory("recognised.json")
        self._known = self._memory.read()
        self._found: dict[str, Any] = {}

    def find(self, path: Path, files: tuple[Path, ...]) -> Recognised | None:
        """What is known of a source with these files, without opening it."""
        kept = self._known.get(_key(path))
        if not isinstance(kept, dict) or kept.get("stamp") != _stamp(files):
            return None
        try:
            return Recognised(**kept["found"])
        except (KeyError, TypeError):
            return None

    def recognise(self, path: Path, files: tuple[Path, ...]) -> Recognised:
        """Opens a source, unless it is known; whatever is wrong with it is said, never raised."""
        known = self.find(path, files)
        if known is not None:
            return known
        stamp = _stamp(files)
        with _unnoticed(files):
            found = _open(path)
        entry = {"stamp": stamp, "found": asdict(found)}
        self._known[_key(path)] = self._found[_key(path)] = entry
        return found

    def save(self) -> None:
        """Writes what is new."""
        if self._found:
            self._memory.remember_all(self._found)
            self._found = {}


def _open(path: Path) -> Recognised:
    try:
        with closing(open_source(path)) as source:
            return Recognised(
                source.name,
                source.source_bytes,
                next(iter(source.config.get("architectures") or [""])),
                _grid(source),
            )
    except AppError as error:
        is_damaged = isinstance(error, InvalidSourceError)
        return Recognised(problem=error.message, is_damaged=is_damaged)
    except OSError as error:
        problem = Sentence(
            "{name} cannot be read ({reason}).", name=path.name, reason=system_reason(error)
        )
        return Recognised(problem=problem, is_damaged=True)


@contextmanager
def _unnoticed(files: tuple[Path, ...]) -> Iterator[None]:
    """Opening to see what it is is no use: the times of reading are put back."""
    before = {}
    for file in files:
        with suppress(OSError):
            before[file] = file.stat().st_atime_ns
    yield
    for file, read_ns in before.items():
        with suppress(OSError):
            status = file.stat()
            if status.st_atime_ns != read_ns:
                os.utime(file, ns=(read_ns, status.st_mtime_ns))


def _grid(source: Source) -> str:
    if source.is_quantized and source.format != "gguf":
        return source.format
    sizes: Counter[str] = Counter()
    for part in source.parts():
        for linear in part.linears:
            sizes[linear.source_type] += linear.source_bytes
    return sizes.most_common(1)[0][0] if sizes else ""


def _key(path: Path) -> str:
    return str(path.resolve())


def _stamp(files: tuple[Path, ...]) -> list[Any]:
    """Of the program, too: the next version may know more."""
    stamps: list[Any] = [__version__]
    for file in files:
        try:
            status = file.stat()
        except OSError:
            stamps.append([file.name])
        else:
            stamps.append([file.name, status.st_size, status.st_mtime_ns])
    return stamps
