"""The launcher of a real card, by CuPy: its memory, one stream, modules and graphs.

Not yet run on a card: no machine with one was at hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from app.core.errors import MissingExtraError, ResourceError
from app.core.paths import home_dir
from app.engine.executors.cuda.launcher import Buffer, Launch, Launcher
from kernels.cuda.build import ARCHITECTURES, PTX_TARGET, ModuleSource, load_image

_HOST_TO_DEVICE, _DEVICE_TO_HOST = 1, 2  # cudaMemcpyKind
_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_DEFAULT_SHARED_BYTES = 48 << 10  # more must be asked for


class CupyLauncher(Launcher):
    """The first card, and one stream that does not wait for the default one.

    Raises MissingExtraError without CuPy, ResourceError without a card.
    """

    def __init__(self) -> None:
        self._cupy = _import_cupy()
        runtime = self._cupy.cuda.runtime
        try:
            properties = runtime.getDeviceProperties(0)
        except runtime.CUDARuntimeError as error:
            raise ResourceError("No NVIDIA card can be used.", detail=str(error)) from error
        self.name = properties["name"].decode()
        self.num_multiprocessors: int = properties["multiProcessorCount"]
        self._target = choose_target(properties["major"], properties["minor"])
        self._stream = self._cupy.cuda.Stream(non_blocking=True)
        self._memory: list[Any] = []
        self._functions: dict[tuple[ModuleSource, str], Any] = {}

    def allocate(self, num_bytes: int) -> Buffer:
        """Zeros; see `Launcher`."""
        try:
            memory = self._cupy.cuda.alloc(max(num_bytes, 1))
        except self._cupy.cuda.memory.OutOfMemoryError as error:
            raise ResourceError(
                f"The card has no room for {num_bytes:,} more bytes.", detail=str(error)
            ) from error
        memory.memset_async(0, num_bytes, self._stream)
        self._memory.append(memory)
        return Buffer(int(memory.ptr), num_bytes)

    def upload(self, array: npt.NDArray[Any], buffer: Buffer) -> None:
        """Pageable memory is staged before the call returns; see `Launcher`."""
        self._copy(buffer.address, array.ctypes.data, array.nbytes, _HOST_TO_DEVICE)

    def download(self, buffer: Buffer, array: npt.NDArray[Any]) -> None:
        """Waits for the stream; see `Launcher`."""
        self._copy(array.ctypes.data, buffer.address, array.nbytes, _DEVICE_TO_HOST)
        self._stream.synchronize()

    def capture(self, launches: Sequence[Launch]) -> Any:
        """A graph; see `Launcher`."""
        functions = [self._function(launch) for launch in launches]
        with self._stream:
            self._stream.begin_capture()
            for launch, function in zip(launches, functions, strict=True):
                function(
                    _three(launch.grid),
                    _three(launch.block),
                    (launch.argument,),
                    launch.shared_bytes,
                    self._stream,
                )
            return self._stream.end_capture()

    def replay(self, graph: Any) -> None:
        """One launch of the whole graph; see `Launcher`."""
        graph.launch(self._stream)

    def close(self) -> None:
        """Waits for what runs, then frees."""
        self._stream.synchronize()
        self._functions.clear()
        self._memory.clear()
        self._cupy.get_default_memory_pool().free_all_blocks()

    def _copy(self, target: int, source: int, num_bytes: int, kind: int) -> None:
        self._cupy.cuda.runtime.memcpyAsync(target, source, num_bytes, kind, self._stream.ptr)

    def _function(self, launch: Launch) -> Any:
        key = launch.source, launch.kernel
        if key not in self._functions:
            module = self._cupy.cuda.function.Module()
            module.load(load_image(launch.source, self._target, module_dir()))
            self._functions[key] = module.get_function(launch.kernel)
        function = self._functions[key]
        if launch.shared_bytes > _DEFAULT_SHARED_BYTES:
            driver = self._cupy.cuda.driver
            driver.funcSetAttribute(function.ptr, _MAX_DYNAMIC_SHARED, launch.shared_bytes)
        return function


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
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "The cuda executor needs CuPy, which is not installed: "
            "`python3 dev.py install cuda` installs it."
        ) from error
    return cupy


def _three(sizes: tuple[int, ...]) -> tuple[int, ...]:
    return (*sizes, *(1,) * (3 - len(sizes)))
