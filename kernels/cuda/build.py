"""From kernels/cuda/*.cu to modules for a card: compiled once, kept on disk by content.

In a source checkout a module is compiled when it is first needed; a bundle ships them all compiled.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernels.cuda import nvrtc

SOURCE_DIR = Path(__file__).parent
# What the program is built for: A100, RTX 30, RTX 40, H100 and H200, RTX 50; PTX for later ones.
ARCHITECTURES = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_120")
PTX_TARGET = "compute_80"
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


def read_headers() -> dict[str, str]:
    """All `.cuh` files by name."""
    return {path.name: path.read_text("utf-8") for path in sorted(SOURCE_DIR.glob("*.cuh"))}


def compile_module(source: ModuleSource, target: str, extra: Sequence[str] = ()) -> nvrtc.Compiled:
    """Compiles without looking at the cache; raises nvrtc.CompileError."""
    text = (SOURCE_DIR / source.file).read_text("utf-8")
    return nvrtc.compile_source(
        source.file, text, read_headers(), target, (*source.options, *extra)
    )


def load_image(source: ModuleSource, target: str, cache_dir: Path) -> bytes:
    """The module's cubin or PTX, from `cache_dir` where the same source was compiled before."""
    path = cache_dir / target / f"{Path(source.file).stem}-{_digest(source)}.bin"
    if path.exists():
        return path.read_bytes()
    image = compile_module(source, target).image
    path.parent.mkdir(parents=True, exist_ok=True)
    _write_atomically(path, image)
    return image


def _digest(source: ModuleSource) -> str:
    digest = hashlib.sha256(repr((nvrtc.version(), source.options)).encode())
    for text in ((SOURCE_DIR / source.file).read_text("utf-8"), *read_headers().values()):
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()[:16]


def _write_atomically(path: Path, data: bytes) -> None:
    """Two processes may compile the same module at once."""
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    Path(name).replace(path)
