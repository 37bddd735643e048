"""A device whose kernels have one planted fault."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernels.cuda.build import SOURCE_DIR, ModuleSource
from tests.kernels.cuda_host import HostModule, build_host_module
from tests.kernels.host_launcher import HostLauncher, host_module

Fault = tuple[str, str, str]  # of a file of kernels/cuda the text, and what stands there instead


def plant(faults: Sequence[Fault], directory: Path) -> Path:
    """A copy of all sources, in which each text stands once and is replaced."""
    for path in [*SOURCE_DIR.glob("*.cu"), *SOURCE_DIR.glob("*.cuh")]:
        (directory / path.name).write_text(path.read_text("utf-8"), "utf-8")
    for name, text, instead in faults:
        source = (directory / name).read_text("utf-8")
        assert source.count(text) == 1, f"{name} does not hold this once: {text}"
        (directory / name).write_text(source.replace(text, instead), "utf-8")
    return directory


class FaultyLauncher(HostLauncher):
    """Runs `file` as it stands in `directory`, all others as they are."""

    def __init__(self, directory: Path, file: str) -> None:
        super().__init__()
        self._file = file
        self._faulty = build_host_module(directory / file)

    def module(self, source: ModuleSource) -> HostModule:
        return self._faulty if source.file == self._file else host_module(source)
