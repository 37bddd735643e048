"""The cuda executor's device without a card: guarded memory, and kernels on fibers."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy.typing as npt

from app.engine.executors.cuda.launcher import Buffer, Launch, Launcher
from kernels.cuda.build import SOURCE_DIR, ModuleSource
from tests.kernels.cuda_host import GuardedMemory, HostModule, build_host_module

NUM_MULTIPROCESSORS = 2


@cache
def host_module(source: ModuleSource) -> HostModule:
    """Compiled once per process."""
    return build_host_module(SOURCE_DIR / source.file, source.macros)


class HostLauncher(Launcher):
    """Runs what it is asked at once; a graph is the list of its launches."""

    def __init__(self) -> None:
        self._memory: list[GuardedMemory] = []
        self.num_captures = 0
        self.num_launches = 0

    def allocate(self, num_bytes: int) -> Buffer:
        memory = GuardedMemory(num_bytes)
        self._memory.append(memory)
        return Buffer(memory.address, num_bytes)

    def upload(self, array: npt.NDArray[Any], buffer: Buffer) -> None:
        assert array.flags.c_contiguous
        assert array.nbytes <= buffer.num_bytes
        ctypes.memmove(buffer.address, array.ctypes.data, array.nbytes)

    def download(self, buffer: Buffer, array: npt.NDArray[Any]) -> None:
        assert array.nbytes <= buffer.num_bytes
        ctypes.memmove(array.ctypes.data, buffer.address, array.nbytes)

    def capture(self, launches: Sequence[Launch]) -> list[Launch]:
        self.num_captures += 1
        for launch in launches:
            host_module(launch.source)
        return list(launches)

    def replay(self, graph: list[Launch]) -> None:
        for launch in graph:
            self.num_launches += 1
            host_module(launch.source).launch_argument(
                launch.kernel, launch.grid, launch.block, launch.argument, launch.shared_bytes
            )

    def close(self) -> None:
        for memory in self._memory:
            memory.free()
        self._memory.clear()
