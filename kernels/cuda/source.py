"""The `.cu` files and their variants, before anything compiles them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SOURCE_DIR = Path(__file__).parent
# CuPy's own options, so that every way of compiling gives the same code.
OPTIONS = ("--std=c++17", "-ftz=true", "--device-as-default-execution-space")


@dataclass(frozen=True, slots=True)
class ModuleSource:
    """One `.cu` file with the macros that make it a certain variant."""

    file: str
    macros: tuple[tuple[str, str], ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        """Compiler options of the variant."""
        return (*OPTIONS, *(f"-D{name}={value}" for name, value in self.macros))


def read_source(source: ModuleSource) -> str:
    """The text of its file."""
    return (SOURCE_DIR / source.file).read_text("utf-8")


def read_headers() -> dict[str, str]:
    """All `.cuh` files by name."""
    return {path.name: path.read_text("utf-8") for path in sorted(SOURCE_DIR.glob("*.cuh"))}


def has_sources() -> bool:
    """Whether the files stand here; a bundle may leave them out."""
    return any(SOURCE_DIR.glob("*.cu"))


@cache
def hash_sources() -> str:
    """Of all files and options: once a process, since nobody edits a running program."""
    digest = hashlib.sha256(repr(OPTIONS).encode())
    for path in sorted(SOURCE_DIR.glob("*.cu*")):
        digest.update(f"{path.name}\0{path.read_text('utf-8')}\0".encode())
    return digest.hexdigest()
