"""The launcher of a real card, by CuPy: its memory, one stream, modules and graphs.

Not yet run on a card: no machine with one was at hand. Tests run it with fibers in CuPy's place,
and hold what it calls to CuPy 14.2, whose sources were read.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt

from app.core.errors import (
    AppError,
    EngineError,
    MissingExtraError,
    OutOfMemoryError,
    ResourceError,
)
from app.core.paths import home_dir
from app.core.sentence import Sentence
from app.engine.executors.cuda.arena import Arena
from app.engine.executors.cuda.launcher import Buffer, DeviceMemory, Launch, Launcher
from kernels.cuda import nvrtc
from kernels.cuda.build import ARCHITECTURES, PTX_TARGET, ModuleSource, load_image
from kernels.cuda.nvrtc import CompileError

_HOST_TO_DEVICE, _DEVICE_TO_HOST, _ON_DEVICE = 1, 2, 3  # cudaMemcpyKind
_HOST_ALLOC_MAPPED = 2  # cudaHostAllocMapped
_OUT_OF_MEMORY = 2  # cudaErrorMemoryAllocation, and CUDA_ERROR_OUT_OF_MEMORY
_TIMED_REPLAYS = 16  # of so many of a graph, one is timed
_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
# Static and dynamic together; more must be asked for, and to ask for less than that costs nothing.
_DEFAULT_SHARED_BYTES = 48 << 10
_STATIC_SHARED_BYTES = 16 << 10  # of any kernel


_Prepared = tuple[Any, tuple[int, ...]]  # a function of a module, a grid


@dataclass(slots=True)
class _Graph:
    """CuPy's, how many kernels it runs, how often it did, and how long it took when last timed."""

    graph: Any
    num_launches: int
    num_replays: int = 0
    seconds: float = 0.0


class CupyLauncher(Launcher):
    """The first card, and one stream that does not wait for the default one.

    Of one thread: contexts are bound to threads. Raises MissingExtraError without CuPy or, in a
    source checkout, without its compiler; ResourceError without a card or memory; EngineError for
    what a kernel did wrong, after which the process cannot use the card any more.
    """

    def __init__(self) -> None:
        self._cupy = _import_cupy()
        self._runtime: Any = self._cupy.cuda.runtime
        with self._translated(Sentence("No NVIDIA card can be used")):
            self._runtime.setDevice(0)
            self._runtime.free(0)  # makes the context, so that `memory` counts it
            properties = self._runtime.getDeviceProperties(0)
            self._stream = self._cupy.cuda.Stream(non_blocking=True)
        self.name = properties["name"].decode()
        self.num_multiprocessors = int(properties["multiProcessorCount"])
        self._target = choose_target(properties["major"], properties["minor"])
        self._arena = Arena(self._allocate_piece, self._runtime.free)
        self._host_pieces: list[int] = []
        self._timing: tuple[_Graph, Any, Any] | None = None
        self._functions: dict[tuple[ModuleSource, str], Any] = {}

    def memory(self) -> DeviceMemory:
        """By cudaMemGetInfo; see `Launcher`."""
        with self._translated(Sentence("The card cannot say how much memory it has")):
            free_bytes, total_bytes = self._runtime.memGetInfo()
        return DeviceMemory(free_bytes, total_bytes)

    def reserve(self, num_bytes: int) -> None:
        """See `Launcher`."""
        self._arena.reserve(num_bytes)

    def allocate(self, num_bytes: int) -> Buffer:
        """Zeros; see `Launcher`."""
        buffer = self._arena.allocate(num_bytes)
        with self._translated(Sentence("The card cannot clear its memory")):
            self._runtime.memsetAsync(buffer.address, 0, num_bytes, self._stream.ptr)
        return buffer

    def allocate_host(self, num_bytes: int) -> Buffer:
        """Page-locked; its address serves the card too (unified virtual addressing)."""
        with self._translated(
            Sentence(
                "No {num_bytes:,} bytes of memory can be locked for the card", num_bytes=num_bytes
            )
        ):
            address = int(self._runtime.hostAlloc(max(num_bytes, 1), _HOST_ALLOC_MAPPED))
        self._host_pieces.append(address)
        self.host_bytes += num_bytes
        ctypes.memset(address, 0, num_bytes)
        return Buffer(address, num_bytes, is_on_host=True)

    @contextmanager
    def borrow(self, num_bytes: int) -> Iterator[Buffer]:
        """See `Launcher`."""
        address = self._allocate_piece(num_bytes)
        try:
            yield Buffer(address, num_bytes)
            with self._translated(Sentence("The card failed")):
                self._stream.synchronize()
        finally:
            with self._translated(Sentence("The card does not take its memory back")):
                self._runtime.free(address)

    def upload(self, array: npt.NDArray[Any], buffer: Buffer) -> None:
        """Pageable memory is staged before the call returns; see `Launcher`."""
        if buffer.is_on_host:
            ctypes.memmove(buffer.address, array.ctypes.data, array.nbytes)
            return
        self._copy(buffer.address, array.ctypes.data, array.nbytes, _HOST_TO_DEVICE)

    def download(self, buffer: Buffer, array: npt.NDArray[Any]) -> None:
        """Waits for the stream; see `Launcher`."""
        self._copy(array.ctypes.data, buffer.address, array.nbytes, _DEVICE_TO_HOST)
        with self._translated(Sentence("The card failed")):
            self._stream.synchronize()

    def copy(self, source: Buffer, target: Buffer) -> None:
        """See `Launcher`."""
        self._copy(target.address, source.address, source.num_bytes, _ON_DEVICE)

    def run(self, launches: Sequence[Launch]) -> None:
        """See `Launcher`."""
        prepared = [self._prepare(launch) for launch in launches]
        with self._translated(Sentence("The card refuses a kernel")):
            self._launch_all(launches, prepared)

    def capture(self, launches: Sequence[Launch]) -> _Graph:
        """A graph; see `Launcher`."""
        prepared = [self._prepare(launch) for launch in launches]
        with self._translated(Sentence("The card cannot record its work")):
            self._stream.begin_capture()
            self._launch_all(launches, prepared)
            return _Graph(self._stream.end_capture(), len(launches))

    def replay(self, graph: _Graph) -> None:
        """One launch of the whole graph; see `Launcher`.

        Some are timed, by events that nobody waits for; the others take as long as their graph did
        then.
        """
        with self._translated(Sentence("The card failed")):
            self._finish_timing()
            is_due = not graph.seconds or graph.num_replays % _TIMED_REPLAYS == 0
            is_timed = is_due and self._timing is None
            start = self._record() if is_timed else None
            graph.graph.launch(self._stream)
            if start is not None:
                self._timing = graph, start, self._record()
        self.busy_s += 0.0 if is_timed else graph.seconds
        graph.num_replays += 1
        self.num_replays += 1
        self.num_launches += graph.num_launches

    def _finish_timing(self) -> None:
        if self._timing is None or not self._timing[2].done:
            return
        graph, *events = self._timing
        graph.seconds = float(self._cupy.cuda.get_elapsed_time(*events)) / 1e3
        self.busy_s += graph.seconds
        self._timing = None

    def _record(self) -> Any:
        event = self._cupy.cuda.Event()
        event.record(self._stream)
        return event

    def time_replays_s(self, graph: _Graph, count: int) -> float:
        """Between two events on the stream; see `Launcher`."""
        events = self._cupy.cuda
        with self._translated(Sentence("The card failed")):
            start, end = events.Event(), events.Event()
            start.record(self._stream)
            for _ in range(count):
                graph.graph.launch(self._stream)
            end.record(self._stream)
            end.synchronize()
            return float(events.get_elapsed_time(start, end)) / 1e3

    def is_idle(self) -> bool:
        """Asks the stream; see `Launcher`."""
        with self._translated(Sentence("The card failed")):
            return bool(self._stream.done)

    def close(self) -> None:
        """Waits for what runs, then frees; the context stays until the process ends."""
        with self._translated(Sentence("The card failed")):
            try:
                self._stream.synchronize()
            finally:
                self._functions.clear()
                self._arena.close()
                while self._host_pieces:
                    self._runtime.freeHost(self._host_pieces.pop())

    def _launch_all(self, launches: Sequence[Launch], prepared: Sequence[_Prepared]) -> None:
        for launch, (function, grid) in zip(launches, prepared, strict=True):
            function(grid, launch.block, (launch.argument,), launch.shared_bytes, self._stream)

    def _prepare(self, launch: Launch) -> _Prepared:
        """Its function, and the blocks that are launched."""
        function = self._function(launch)
        if not launch.walks:
            return function, launch.grid
        with self._translated(Sentence("The card cannot say what it runs at once")):
            of_each = self._cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
                function.ptr, math.prod(launch.block), launch.shared_bytes
            )
        return function, launch.grid_of(int(of_each) * self.num_multiprocessors)

    def _copy(self, target: int, source: int, num_bytes: int, kind: int) -> None:
        with self._translated(Sentence("The card cannot copy")):
            self._runtime.memcpyAsync(target, source, num_bytes, kind, self._stream.ptr)

    def _allocate_piece(self, num_bytes: int) -> int:
        with self._translated(
            Sentence("The card has no room for {num_bytes:,} more bytes", num_bytes=num_bytes)
        ):
            return int(self._runtime.malloc(num_bytes))

    def _function(self, launch: Launch) -> Any:
        key = launch.source, launch.kernel
        if key not in self._functions:
            self._functions[key] = self._load(launch)
        function = self._functions[key]
        if launch.shared_bytes + _STATIC_SHARED_BYTES > _DEFAULT_SHARED_BYTES:
            with self._translated(
                Sentence("The card has too little shared memory for {kernel}", kernel=launch.kernel)
            ):
                driver = self._cupy.cuda.driver
                driver.funcSetAttribute(function.ptr, _MAX_DYNAMIC_SHARED, launch.shared_bytes)
        return function

    def _load(self, launch: Launch) -> Any:
        try:
            image = load_image(launch.source, self._target, module_dir())
        except CompileError as error:
            kind = EngineError if nvrtc.is_installed() else MissingExtraError
            sentence = Sentence(
                "The kernels cannot be compiled: {error} `python3 dev.py install cuda` installs "
                "the compiler.",
                error=error,
            )
            raise kind(sentence, detail=error.log) from error
        module = self._cupy.cuda.function.Module()
        with self._translated(
            Sentence("The driver refuses the kernel {kernel}", kernel=launch.kernel)
        ):
            module.load(image)
            return module.get_function(launch.kernel)

    @contextmanager
    def _translated(self, sentence: str) -> Iterator[None]:
        """CuPy's errors as ours, with CUDA's own words as the detail."""
        cuda = self._cupy.cuda
        try:
            yield
        except (cuda.runtime.CUDARuntimeError, cuda.driver.CUDADriverError) as error:
            kind: type[AppError] = EngineError if hasattr(self, "_arena") else ResourceError
            kind = OutOfMemoryError if error.status == _OUT_OF_MEMORY else kind
            whole = Sentence("{sentence} ({error}).", sentence=sentence, error=error)
            raise kind(whole, detail=repr(error)) from error


def choose_target(major: int, minor: int) -> str:
    """The newest cubin a card of this compute capability runs; PTX where there is none.

    A cubin runs on cards of its own major version and the same or a higher minor one.
    """
    fitting = [
        name for name in ARCHITECTURES if int(name[3:-1]) == major and int(name[-1]) <= minor
    ]
    return fitting[-1] if fitting else PTX_TARGET


def module_dir() -> Path:
    """Where compiled modules are kept."""
    return home_dir() / "cuda"


def _import_cupy() -> Any:
    try:
        import cupy
    except ImportError as error:
        raise MissingExtraError(
            "The cuda executor needs CuPy, which is not installed: "
            "`python3 dev.py install cuda` installs it.",
            detail=str(error),
        ) from error
    return cupy
