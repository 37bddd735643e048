"""What the launcher of real cards asks of CuPy, with fibers for a card: later than asked, in order.

Nothing happens before somebody waits for the stream or asks how far it is. What a driver would
refuse is refused: more than launches while a graph is recorded, grids that are too large, shared
memory that was not asked for, memory that is not the device's.
"""

from __future__ import annotations

import ctypes
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from kernels.cuda.build import ModuleSource
from tests.kernels.cuda_host import GuardedMemory
from tests.kernels.host_launcher import NUM_MULTIPROCESSORS, host_module

_MAX_GRID = (2**31 - 1, 65535, 65535)
_MAX_BLOCK_THREADS = 1024
_MOST_SHARED_BYTES, _DEFAULT_SHARED_BYTES = 99 << 10, 48 << 10
_STATIC_SHARED_BYTES = 16 << 10
_OUT_OF_MEMORY, _INVALID_VALUE, _CAPTURED = 2, 1, 900
GRAPH_S = 2e-3  # that every graph takes, by its events
_BLOCKS_AT_ONCE = 1  # of a multiprocessor


def image_of(source: ModuleSource, target: str, cache_dir: Any) -> bytes:
    """Instead of a cubin."""
    assert target == "sm_86"
    return pickle.dumps(source)


class CUDARuntimeError(RuntimeError):
    """As CuPy's."""

    def __init__(self, status: int) -> None:
        super().__init__(f"cudaError {status}")
        self.status = status


class CUDADriverError(CUDARuntimeError):
    """As CuPy's."""


class _Stream:
    def __init__(self) -> None:
        self.ptr = id(self)
        self.queue: list[Callable[[], object]] = []
        self.recording: list[Callable[[], object]] | None = None

    def begin_capture(self) -> None:
        assert self.recording is None
        self.recording = []

    def end_capture(self) -> _Graph:
        recording, self.recording = self.recording, None
        assert recording
        return _Graph(recording)

    def launch(self, work: Callable[[], object]) -> None:
        """What may be recorded."""
        (self.queue if self.recording is None else self.recording).append(work)

    def ask(self, work: Callable[[], object]) -> None:
        """What may not."""
        self.check_idle_recorder()
        self.queue.append(work)

    def check_idle_recorder(self) -> None:
        if self.recording is not None:
            raise CUDARuntimeError(_CAPTURED)

    @property
    def done(self) -> bool:
        """A kernel later."""
        self.check_idle_recorder()
        if self.queue:
            self.queue.pop(0)()
        return not self.queue

    def synchronize(self) -> None:
        while not self.done:
            pass


class _Graph:
    def __init__(self, works: list[Callable[[], object]]) -> None:
        self._works = works

    def launch(self, stream: _Stream) -> None:
        for work in self._works:
            stream.ask(work)


class _Event:
    def __init__(self) -> None:
        self.done = False
        self._stream: _Stream | None = None

    def record(self, stream: _Stream) -> None:
        self._stream, self.done = stream, False
        stream.ask(self._pass)

    def _pass(self) -> None:
        self.done = True

    def synchronize(self) -> None:
        assert self._stream is not None
        while not self.done:
            assert not self._stream.done or self.done


class _Function:
    def __init__(self, source: ModuleSource, name: str) -> None:
        self._source, self._name = source, name
        self.ptr = id(self)
        self.shared_bytes = _DEFAULT_SHARED_BYTES - _STATIC_SHARED_BYTES

    def __call__(self, grid: Any, block: Any, args: Any, shared_mem: int, stream: _Stream) -> None:
        (argument,) = args
        assert type(argument) is np.ndarray
        assert argument.shape == ()
        sizes = [*grid, *block]
        assert all(type(size) is int and size > 0 for size in sizes), sizes
        is_too_large = any(n > most for n, most in zip(grid, _MAX_GRID, strict=False))
        if is_too_large or np.prod(block) > _MAX_BLOCK_THREADS or shared_mem > self.shared_bytes:
            raise CUDADriverError(_INVALID_VALUE)
        values = argument.copy()  # as they are now, however late it runs
        stream.launch(lambda: self._run(tuple(grid), tuple(block), values, shared_mem))

    def _run(self, grid: Any, block: Any, argument: Any, shared_mem: int) -> None:
        module = host_module(self._source)
        module.launch_argument(self._name, grid, block, argument, shared_bytes=shared_mem)


class _Module:
    def __init__(self) -> None:
        self._source: ModuleSource | None = None

    def load(self, image: bytes) -> None:
        assert type(image) is bytes
        self._source = pickle.loads(image)

    def get_function(self, name: str) -> _Function:
        assert self._source is not None
        return _Function(self._source, name)


class FiberCupy:
    """Stands for the package `cupy` and for its parts `cuda`, `runtime` and `driver`.

    `taken_bytes` is what was allocated and not given back.
    """

    CUDARuntimeError, CUDADriverError = CUDARuntimeError, CUDADriverError
    Event, Module = _Event, _Module

    def __init__(self, total_bytes: int) -> None:
        self.cuda = self.runtime = self.driver = self.function = self
        self._total_bytes = total_bytes
        self._memory: dict[int, tuple[GuardedMemory, int]] = {}
        self._host_memory: dict[int, GuardedMemory] = {}
        self._streams: list[_Stream] = []

    @property
    def taken_bytes(self) -> int:
        return sum(num_bytes for _, num_bytes in self._memory.values())

    @property
    def num_host_pieces(self) -> int:
        return len(self._host_memory)

    def Stream(self, non_blocking: bool) -> _Stream:
        assert non_blocking
        self._streams.append(_Stream())
        return self._streams[-1]

    def setDevice(self, device: int) -> None:
        assert device == 0

    def getDeviceProperties(self, device: int) -> dict[str, Any]:
        names = {"name": b"Fibers", "multiProcessorCount": NUM_MULTIPROCESSORS}
        return {**names, "major": 8, "minor": 6}

    def memGetInfo(self) -> tuple[int, int]:
        return self._total_bytes - self.taken_bytes, self._total_bytes

    def malloc(self, num_bytes: int) -> int:
        self._refuse_while_recording()
        if num_bytes > self._total_bytes - self.taken_bytes:
            raise CUDARuntimeError(_OUT_OF_MEMORY)
        memory = GuardedMemory(num_bytes)
        ctypes.memset(memory.address, 0xFF, num_bytes)  # nobody clears it but the launcher
        self._memory[memory.address] = memory, num_bytes
        return memory.address

    def free(self, address: int) -> None:
        if address:
            self._refuse_while_recording()
            assert not any(stream.queue for stream in self._streams)  # it would wait
            self._memory.pop(address)[0].free()

    def hostAlloc(self, num_bytes: int, flags: int) -> int:
        self._refuse_while_recording()
        memory = GuardedMemory(num_bytes)
        ctypes.memset(memory.address, 0xFF, num_bytes)
        self._host_memory[memory.address] = memory
        return memory.address

    def freeHost(self, address: int) -> None:
        self._host_memory.pop(address).free()

    def memsetAsync(self, address: int, value: int, num_bytes: int, stream: int) -> None:
        self._check(address, num_bytes)
        self._stream(stream).ask(lambda: ctypes.memset(address, value, num_bytes))

    def memcpyAsync(self, to: int, source: int, num_bytes: int, kind: int, stream: int) -> None:
        """From pageable memory: staged before the call returns."""
        if kind in (1, 3):
            self._check(to, num_bytes)
        if kind in (2, 3):
            self._check(source, num_bytes)
        if kind != 1:
            self._stream(stream).ask(lambda: ctypes.memmove(to, source, num_bytes))
            return
        staged = ctypes.string_at(source, num_bytes)
        self._stream(stream).ask(lambda: ctypes.memmove(to, staged, num_bytes))

    def occupancyMaxActiveBlocksPerMultiprocessor(self, f: int, block: int, shared: int) -> int:
        return _BLOCKS_AT_ONCE

    def funcSetAttribute(self, function: int, attribute: int, value: int) -> None:
        assert attribute == 8
        if value + _STATIC_SHARED_BYTES > _MOST_SHARED_BYTES:
            raise CUDADriverError(_INVALID_VALUE)
        ctypes.cast(function, ctypes.py_object).value.shared_bytes = value

    def get_elapsed_time(self, start: _Event, end: _Event) -> float:
        assert start.done
        assert end.done
        return 1e3 * GRAPH_S

    def _stream(self, ptr: int) -> _Stream:
        return next(stream for stream in reversed(self._streams) if stream.ptr == ptr)

    def _refuse_while_recording(self) -> None:
        for stream in self._streams:
            stream.check_idle_recorder()

    def _check(self, address: int, num_bytes: int) -> None:
        pieces = ((start, size) for start, (_, size) in self._memory.items())
        if not any(a <= address and address + num_bytes <= a + size for a, size in pieces):
            raise CUDARuntimeError(_INVALID_VALUE)
