"""Compiles the common modules for every card: what packaging runs, with NVRTC and no card."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kernels.cuda import nvrtc
from kernels.cuda.build import ARCHITECTURES, PTX_TARGET, compile_module
from kernels.cuda.built import BUILT_DIR, write_archive, write_manifest
from kernels.cuda.source import ModuleSource
from kernels.cuda.variants import iter_sources

_TARGETS = (*ARCHITECTURES, PTX_TARGET)


def main(args: Sequence[str] | None = None) -> int:
    """`python -m kernels.cuda.build`; 1 where a source does not compile."""
    options = _parse(args)
    try:
        build_all(list(iter_sources()), options.target or _TARGETS, options.out, options.jobs)
    except nvrtc.CompileError as error:
        sys.stderr.write(f"{error}\n{error.log}")
        return 1
    return 0


def build_all(
    sources: Sequence[ModuleSource], targets: Sequence[str], directory: Path, num_jobs: int = 1
) -> None:
    """Writes an archive per target, then the manifest; raises nvrtc.CompileError."""
    sizes = {}
    for target in targets:
        started_s = time.monotonic()
        images = _compile_all(sources, target, num_jobs)
        sizes[target] = write_archive(directory, target, images)
        total = sum(map(len, images.values()))
        sys.stdout.write(
            f"{target}: {len(images)} modules, {total:,} bytes, {sizes[target]:,} in the archive, "
            f"{time.monotonic() - started_s:.1f} s\n"
        )
    version = ".".join(map(str, nvrtc.version()))
    write_manifest(directory, nvrtc=version, num_modules=len(sources), archive_bytes=sizes)


def _compile_all(
    sources: Sequence[ModuleSource], target: str, num_jobs: int
) -> dict[ModuleSource, bytes]:
    """NVRTC runs outside of Python's lock, so threads do."""
    with ThreadPoolExecutor(num_jobs) as pool:
        compiled = list(pool.map(lambda source: compile_module(source, target).image, sources))
    return dict(zip(sources, compiled, strict=True))


def _parse(args: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m kernels.cuda.build", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--out", type=Path, default=BUILT_DIR, metavar="DIR")
    parser.add_argument("--target", action="append", choices=_TARGETS, help="default: all")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    return parser.parse_args(args)


if __name__ == "__main__":
    sys.exit(main())
