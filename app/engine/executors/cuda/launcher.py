"""What the cuda executor asks of a device: memory, copies, launches, graphs.

CuPy gives it on a card (`cupy_launcher.py`), the fibers of tests/kernels without one.
"""

from __future__ import annotations

import ctypes
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from app.core.errors import EngineError
from kernels.cuda.build import ModuleSource

_ALIGNMENT = 256
_POLL_INTERVAL_S = 1e-4  # the next step is under way meanwhile


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory of the device, or the host's that it reads in place, at an address that stays."""

    address: int
    num_bytes: int
    is_on_host: bool = False

    def skip(self, num_bytes: int) -> Buffer:
        """What lies behind the first bytes."""
        return replace(self, address=self.address + num_bytes, num_bytes=self.num_bytes - num_bytes)


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel with its only argument, a structure; grid and block in x, y, z.

    With `walks` fewer blocks in x do all the work too, each a part of it: as many as the device
    runs at once are launched then.
    """

    source: ModuleSource
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    argument: npt.NDArray[Any]
    shared_bytes: int = 0
    walks: bool = False

    def grid_of(self, num_resident: int) -> tuple[int, ...]:
        """What is launched where so many blocks run at once."""
        if not self.walks or num_resident < 1:
            return self.grid
        return (min(self.grid[0], num_resident), *self.grid[1:])


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """Of the whole device, other programs included; bytes."""

    free_bytes: int
    total_bytes: int


class Allocator(ABC):
    """Where buffers come from and arrays go: all that weights, cache and workspace are made of.

    Counting what is asked here (`measure.py`) is what a plan is made from.
    """

    num_multiprocessors: int

    @abstractmethod
    def allocate(self, num_bytes: int) -> Buffer:
        """Memory filled with zeros, aligned to 256 bytes; ResourceError when there is none left."""

    @abstractmethod
    def allocate_host(self, num_bytes: int) -> Buffer:
        """Zeros in memory of the host that kernels reach in place, over the bus."""

    @abstractmethod
    def upload(self, array: npt.NDArray[Any], buffer: Buffer) -> None:
        """Copies a contiguous array to the start of the buffer; the array may change afterwards."""

    def upload_new(self, array: npt.NDArray[Any], on_host: bool = False) -> Buffer:
        """A new buffer with the array's bytes."""
        contiguous = np.ascontiguousarray(array)
        allocate = self.allocate_host if on_host else self.allocate
        buffer = allocate(contiguous.nbytes)
        self.upload(contiguous, buffer)
        return buffer


class Launcher(Allocator):
    """One device, one stream: what is asked happens in order."""

    name: str
    # Of graphs so far; the kernels in them; the seconds that they took, as far as is known.
    num_replays = 0
    num_launches = 0
    busy_s = 0.0
    host_bytes = 0  # what `allocate_host` gave
    yardstick_bytes = 512 << 20  # whose copy tells the memory's speed: well beyond every cache

    @abstractmethod
    def memory(self) -> DeviceMemory:
        """What is free now."""

    @abstractmethod
    def reserve(self, num_bytes: int) -> None:
        """Takes memory for the allocations to come at once; ResourceError when there is less."""

    @abstractmethod
    def borrow(self, num_bytes: int) -> AbstractContextManager[Buffer]:
        """Memory with anything in it, given back at the end; ResourceError as for `allocate`."""

    @abstractmethod
    def download(self, buffer: Buffer, array: npt.NDArray[Any]) -> None:
        """Fills a contiguous array from the start of the buffer, when all before it is done."""

    @abstractmethod
    def copy(self, source: Buffer, target: Buffer) -> None:
        """Copies all of a buffer to the start of another, behind all that was asked before."""

    @abstractmethod
    def capture(self, launches: Sequence[Launch]) -> Any:
        """Makes a graph of launches; `replay` runs it. Modules are loaded before."""

    @abstractmethod
    def replay(self, graph: Any) -> None:
        """Runs a captured graph."""

    @abstractmethod
    def run(self, launches: Sequence[Launch]) -> None:
        """Runs launches one by one: what a graph of them does, slower."""

    @abstractmethod
    def time_replays_s(self, graph: Any, count: int) -> float:
        """Seconds that so many replays take, by the device's own clock where it has one."""

    @abstractmethod
    def is_idle(self) -> bool:
        """Whether all that was asked is done; EngineError when it failed."""

    @abstractmethod
    def close(self) -> None:
        """Gives all memory back."""

    def wait_until(self, is_there: Callable[[], bool]) -> None:
        """Waits for what a running graph writes to the host's memory.

        Raises EngineError when all is done and it is not there.
        """
        while not is_there():
            if self.is_idle() and not is_there():
                raise EngineError("The card did not write what it was asked for.")
            time.sleep(_POLL_INTERVAL_S)


def aligned_bytes(num_bytes: int) -> int:
    """What a buffer takes of the device's memory."""
    return -(-max(num_bytes, 1) // _ALIGNMENT) * _ALIGNMENT


def host_view(buffer: Buffer) -> npt.NDArray[np.uint8]:
    """The bytes of a buffer that is in the host's memory, as they are now and change later."""
    assert buffer.is_on_host
    return np.ctypeslib.as_array((ctypes.c_uint8 * buffer.num_bytes).from_address(buffer.address))


def fill(dtype: np.dtype[Any], **fields: Any) -> npt.NDArray[Any]:
    """A structure with the given fields; buffers stand for their addresses, others are 0."""
    structure = np.zeros((), dtype)
    for name, value in fields.items():
        structure[name] = value.address if isinstance(value, Buffer) else value
    return structure
