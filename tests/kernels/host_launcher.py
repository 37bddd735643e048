"""The cuda executor's device without a card: guarded memory, and kernels on fibers."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy.typing as npt

from app.core.errors import OutOfMemoryError
from app.engine.executors.cuda.launcher import (
    Buffer,
    DeviceMemory,
    Launch,
    Launcher,
    aligned_bytes,
)
from kernels.cuda.build import SOURCE_DIR, ModuleSource
from tests.kernels.cuda_host import GuardedMemory, HostModule, Schedule, build_host_module

NUM_MULTIPROCESSORS = 2


@cache
def host_module(source: ModuleSource) -> HostModule:
    """Compiled once per process."""
    return build_host_module(SOURCE_DIR / source.file, source.macros)


class HostLauncher(Launcher):
    """Runs what it is asked at once; a graph is the list of its launches.

    It has `total_bytes` of memory, of which `allocated_bytes` are taken: what the plan must say.
    """

    name = "fibers"
    num_multiprocessors = NUM_MULTIPROCESSORS
    yardstick_bytes = 1 << 16

    def __init__(self, total_bytes: int = 1 << 40) -> None:
        self._total_bytes = total_bytes
        self.allocated_bytes = 0
        self._memory: list[GuardedMemory] = []
        self.schedule = Schedule.IN_ORDER
        self.reverse_blocks = False
        self.num_captures = 0
        self.num_launches = self.num_replays = self.num_copies = 0

    def memory(self) -> DeviceMemory:
        return DeviceMemory(self._total_bytes - self.allocated_bytes, self._total_bytes)

    def reserve(self, num_bytes: int) -> None:
        if num_bytes > self.memory().free_bytes:
            raise OutOfMemoryError(f"The card has no room for {num_bytes:,} more bytes.")

    def allocate(self, num_bytes: int) -> Buffer:
        self.reserve(aligned_bytes(num_bytes))
        self.allocated_bytes += aligned_bytes(num_bytes)
        memory = GuardedMemory(num_bytes)
        self._memory.append(memory)
        return Buffer(memory.address, num_bytes)

    def allocate_host(self, num_bytes: int) -> Buffer:
        memory = GuardedMemory(num_bytes)
        self._memory.append(memory)
        self.host_bytes += num_bytes
        return Buffer(memory.address, num_bytes, is_on_host=True)

    @contextmanager
    def borrow(self, num_bytes: int) -> Iterator[Buffer]:
        memory = GuardedMemory(num_bytes)
        yield Buffer(memory.address, num_bytes)
        memory.free()

    def upload(self, array: npt.NDArray[Any], buffer: Buffer) -> None:
        assert array.flags.c_contiguous
        assert array.nbytes <= buffer.num_bytes
        self.num_copies += 1
        ctypes.memmove(buffer.address, array.ctypes.data, array.nbytes)

    def download(self, buffer: Buffer, array: npt.NDArray[Any]) -> None:
        assert array.nbytes <= buffer.num_bytes
        self.num_copies += 1
        ctypes.memmove(array.ctypes.data, buffer.address, array.nbytes)

    def copy(self, source: Buffer, target: Buffer) -> None:
        assert source.num_bytes <= target.num_bytes
        self.num_copies += 1
        ctypes.memmove(target.address, source.address, source.num_bytes)

    def capture(self, launches: Sequence[Launch]) -> list[Launch]:
        self.num_captures += 1
        for launch in launches:
            self.module(launch.source)
        return list(launches)

    def replay(self, graph: list[Launch]) -> None:
        start = time.perf_counter()
        self.run(graph)
        self.busy_s += time.perf_counter() - start

    def module(self, source: ModuleSource) -> HostModule:
        """What a source runs as; tests of faults run another."""
        return host_module(source)

    def run(self, launches: Sequence[Launch]) -> None:
        self.num_replays += 1
        for launch in launches:
            self.num_launches += 1
            self.module(launch.source).launch_argument(
                launch.kernel,
                launch.grid_of(NUM_MULTIPROCESSORS),
                launch.block,
                launch.argument,
                shared_bytes=launch.shared_bytes,
                schedule=self.schedule,
                reverse_blocks=self.reverse_blocks,
            )

    def time_replays_s(self, graph: list[Launch], count: int) -> float:
        """Of one, times `count`: what fibers take says nothing anyway."""
        start = time.perf_counter()
        self.replay(graph)
        return count * (time.perf_counter() - start)

    def is_idle(self) -> bool:
        return True

    def close(self) -> None:
        for memory in self._memory:
            memory.free()
        self._memory.clear()
        self.allocated_bytes = 0
