"""What the cuda executor asks of a device: memory, copies, launches, graphs.

CuPy gives it on a card (`cupy_launcher.py`), the fibers of tests/kernels without one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kernels.cuda.build import ModuleSource


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory of the device, at an address that stays."""

    address: int
    num_bytes: int


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel with its only argument, a structure; grid and block in x, y, z."""

    source: ModuleSource
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    argument: npt.NDArray[Any]
    shared_bytes: int = 0


class Launcher(ABC):
    """One device, one stream: what is asked happens in order."""

    @abstractmethod
    def allocate(self, num_bytes: int) -> Buffer:
        """Memory filled with zeros, aligned to 256 bytes; ResourceError when there is none left."""

    @abstractmethod
    def upload(self, array: npt.NDArray[Any], buffer: Buffer) -> None:
        """Copies a contiguous array to the start of the buffer; the array may change afterwards."""

    @abstractmethod
    def download(self, buffer: Buffer, array: npt.NDArray[Any]) -> None:
        """Fills a contiguous array from the start of the buffer, when all before it is done."""

    @abstractmethod
    def capture(self, launches: Sequence[Launch]) -> Any:
        """Makes a graph of launches; `replay` runs it. Modules are loaded before."""

    @abstractmethod
    def replay(self, graph: Any) -> None:
        """Runs a captured graph."""

    @abstractmethod
    def close(self) -> None:
        """Gives all memory back."""

    def upload_new(self, array: npt.NDArray[Any]) -> Buffer:
        """A new buffer with the array's bytes."""
        contiguous = np.ascontiguousarray(array)
        buffer = self.allocate(contiguous.nbytes)
        self.upload(contiguous, buffer)
        return buffer


def fill(dtype: np.dtype[Any], **fields: Any) -> npt.NDArray[Any]:
    """A structure with the given fields; buffers stand for their addresses, others are 0."""
    structure = np.zeros((), dtype)
    for name, value in fields.items():
        structure[name] = value.address if isinstance(value, Buffer) else value
    return structure
