"""From kernels/cuda/*.cu to modules for a card.

A bundle ships them compiled: `python -m kernels.cuda.build` writes `kernels/cuda/built`
(`kernels.cuda.bundle`). In a source checkout a module is compiled when it is first needed, and kept
on disk by target and content.
"""

from __future__ import annotations

import hashlib
import os
import runpy
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kernels.cuda import nvrtc
from kernels.cuda.built import find_built
from kernels.cuda.source import SOURCE_DIR, ModuleSource, read_headers, read_source

__all__ = ["SOURCE_DIR", "ModuleSource", "compile_module", "load_image", "read_headers"]

# What the program is built for: A100, RTX 30, RTX 40, H100 and H200, RTX 50; PTX for later ones.
ARCHITECTURES = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_120")
PTX_TARGET = "compute_80"


def compile_module(source: ModuleSource, target: str, extra: Sequence[str] = ()) -> nvrtc.Compiled:
    """Compiles without looking anywhere; raises nvrtc.CompileError."""
    return nvrtc.compile_source(
        source.file, read_source(source), read_headers(), target, (*source.options, *extra)
    )


def load_image(source: ModuleSource, target: str, cache_dir: Path) -> bytes:
    """The module's cubin or PTX: as built, else as compiled before, else compiled now.

    Raises nvrtc.CompileError where it must be compiled and cannot be.
    """
    built = find_built(source, target)
    return built if built is not None else _load_compiled(source, target, cache_dir)


def _load_compiled(source: ModuleSource, target: str, cache_dir: Path) -> bytes:
    path = cache_dir / target / f"{Path(source.file).stem}-{_digest(source)}.bin"
    if path.exists():
        return path.read_bytes()
    image = compile_module(source, target).image
    path.parent.mkdir(parents=True, exist_ok=True)
    _write_atomically(path, image)
    return image


def _digest(source: ModuleSource) -> str:
    digest = hashlib.sha256(repr((nvrtc.version(), source.options)).encode())
    for text in (read_source(source), *read_headers().values()):
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()[:16]


def _write_atomically(path: Path, data: bytes) -> None:
    """Two processes may compile the same module at once."""
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    Path(name).replace(path)


if __name__ == "__main__":
    # By name: the other module imports this one.
    runpy.run_module("kernels.cuda.bundle", run_name="__main__")
