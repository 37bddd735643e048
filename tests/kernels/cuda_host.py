"""Runs `.cu` files on the CPU: g++ with cuda_shim/device.h, threads of a block as fibers.

A launch takes NumPy arrays. Each is copied to where it ends at an unreadable page, and back
afterwards; schedules decide in which order threads run between the places where they wait for each
other.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from enum import IntEnum, StrEnum
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kernels.cuda.build import SOURCE_DIR
from tests.kernels.ptx_translator import translate

HOST_DIR = Path(__file__).parent / "cuda_shim"
_CACHE = (
    Path(tempfile.gettempdir())
    / f"deepinfer-cuda-host-{hashlib.sha256(str(HOST_DIR).encode()).hexdigest()[:8]}"
)
_PAGE = 4096
_FLAGS = ("-std=c++17", "-mavx2", "-mfma", "-mf16c", "-ffp-contract=fast", "-fPIC")
_KERNEL = re.compile(
    r'extern\s+"C"\s+__global__\s+void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\('
)


class Schedule(IntEnum):
    """The order of threads; scheduler.cpp has the same numbers."""

    IN_ORDER = 0
    REVERSE = 1
    RANDOM = 2
    GREEDY = 3
    GREEDY_REVERSE = 4


class Sanitizer(StrEnum):
    """How kernels (and, by macro, the scheduler) are instrumented."""

    NONE = "none"
    ALIGNMENT = "alignment"
    ADDRESS = "address"
    THREAD = "thread"


_KERNEL_FLAGS = {
    Sanitizer.NONE: (),
    Sanitizer.ALIGNMENT: ("-fsanitize=alignment", "-fsanitize-undefined-trap-on-error"),
    Sanitizer.ADDRESS: ("-fsanitize=address",),
    Sanitizer.THREAD: ("-fsanitize=thread", "-Wno-tsan"),
}
_SCHEDULER_FLAGS = {
    Sanitizer.ADDRESS: ("-DCUDA_HOST_ASAN",),
    Sanitizer.THREAD: ("-DCUDA_HOST_TSAN",),
}


class KernelFault(Exception):
    """A launch ended in an error; the message names thread and place."""


class _Launch(ctypes.Structure):
    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("dynamic_shared_bytes", ctypes.c_uint),
        ("schedule", ctypes.c_uint),
        ("is_block_order_reversed", ctypes.c_uint),
        ("seed", ctypes.c_uint),
    )


class HostModule:
    """The kernels of one compiled source."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))
        self._library.cuda_host_error.restype = ctypes.c_char_p

    def launch(
        self,
        kernel: str,
        grid: Sequence[int],
        block: Sequence[int],
        args: Sequence[Any],
        **options: Any,
    ) -> None:
        """Arrays are passed by address and changed in place; other arguments are NumPy scalars.

        `options` are those of `_run`. Raises KernelFault.
        """
        with ExitStack() as stack:
            self._library.cuda_host_clear_buffers()
            values = [stack.enter_context(self._argument(i, arg)) for i, arg in enumerate(args)]
            self._run(kernel, grid, block, values, **options)

    def launch_struct(
        self,
        kernel: str,
        grid: Sequence[int],
        block: Sequence[int],
        dtype: np.dtype[Any],
        fields: Mapping[str, Any],
        **options: Any,
    ) -> None:
        """Launches a kernel whose one argument is a structure: arrays by address, numbers as such.

        Fields of a nested structure are called `outer.inner`; those not given are 0. Raises
        KernelFault.
        """
        with ExitStack() as stack:
            values = np.zeros((), dtype)
            self._library.cuda_host_clear_buffers()
            for name, value in fields.items():
                is_array = isinstance(value, np.ndarray)
                number = stack.enter_context(self._lend(name, value)) if is_array else value
                _set_field(values, name, number)
            structure = (ctypes.c_char * dtype.itemsize).from_buffer_copy(values.tobytes())
            self._run(kernel, grid, block, [structure], **options)

    def launch_argument(
        self,
        kernel: str,
        grid: Sequence[int],
        block: Sequence[int],
        argument: npt.NDArray[Any],
        **options: Any,
    ) -> None:
        """Launches with a structure whose addresses are already final.

        `options` are those of `_run`. Raises KernelFault.
        """
        structure = (ctypes.c_char * argument.nbytes).from_buffer_copy(argument.tobytes())
        self._run(kernel, grid, block, [structure], **options)

    @contextmanager
    def _argument(self, index: int, value: Any) -> Iterator[Any]:
        if not isinstance(value, np.ndarray):
            yield np.ctypeslib.as_ctypes_type(value.dtype)(value.item())
            return
        with self._lend(f"arg{index}", value) as address:
            yield ctypes.c_void_p(address)

    @contextmanager
    def _lend(self, name: str, array: npt.NDArray[Any]) -> Iterator[int]:
        with _guarded(array) as address:
            self._library.cuda_host_add_buffer(
                ctypes.c_void_p(address), ctypes.c_size_t(array.nbytes), name.encode()
            )
            yield address

    def _run(
        self,
        kernel: str,
        grid: Sequence[int],
        block: Sequence[int],
        values: Sequence[Any],
        *,
        shared_bytes: int = 0,
        schedule: Schedule = Schedule.IN_ORDER,
        reverse_blocks: bool = False,
        seed: int = 1,
    ) -> None:
        launch = _Launch(
            _three(grid), _three(block), shared_bytes, schedule, int(reverse_blocks), seed
        )
        addresses = [ctypes.cast(ctypes.pointer(v), ctypes.c_void_p) for v in values]
        pointers = (ctypes.c_void_p * len(values))(*addresses)
        if self._library[f"run_{kernel}"](ctypes.byref(launch), pointers):
            raise KernelFault(self._library.cuda_host_error().decode())


def _set_field(structure: npt.NDArray[Any], name: str, value: Any) -> None:
    *outer, inner = name.split(".")
    for each in outer:
        structure = structure[each]
    structure[inner] = value


class GuardedMemory:
    """Memory of zeros that starts at a multiple of 16 and ends at an unreadable page.

    Up to 15 bytes lie between its end and the page where the size is no multiple of 16.
    """

    def __init__(self, num_bytes: int) -> None:
        padded = -(-num_bytes // 16) * 16
        pages = -(-padded // _PAGE) * _PAGE
        self._libc = ctypes.CDLL(None)
        self._libc.mmap.restype = ctypes.c_void_p
        self._num_bytes = pages + _PAGE
        self._base = self._libc.mmap(
            None, ctypes.c_size_t(self._num_bytes), 3, 0x22, -1, ctypes.c_long(0)
        )
        self._libc.mprotect(ctypes.c_void_p(self._base + pages), ctypes.c_size_t(_PAGE), 0)
        self.address: int = self._base + pages - padded

    def free(self) -> None:
        """Gives it back."""
        self._libc.munmap(ctypes.c_void_p(self._base), ctypes.c_size_t(self._num_bytes))


@contextmanager
def _guarded(array: npt.NDArray[Any]) -> Iterator[int]:
    """The address of a guarded copy, which is copied back at the end."""
    assert array.flags.c_contiguous
    memory = GuardedMemory(array.nbytes)
    try:
        ctypes.memmove(memory.address, array.ctypes.data, array.nbytes)
        yield memory.address
        ctypes.memmove(array.ctypes.data, memory.address, array.nbytes)
    finally:
        memory.free()


def build_host_module(
    source: Path,
    macros: Mapping[str, str] | Sequence[tuple[str, str]] = (),
    sanitizer: Sanitizer = Sanitizer.NONE,
) -> HostModule:
    """Compiles a `.cu` file with its launchers; once per content."""
    text = source.read_text("utf-8")
    launchers = "\n".join(_launcher(name) for name in _KERNEL.findall(text))
    body = (
        f'#include "device.h"\n#line 1 "{source.name}"\n{text}\n#line 1 "launchers"\n{launchers}\n'
    )
    flags = [f"-D{name}={value}" for name, value in dict(macros).items()]
    return _build(body, (*flags, "-O2", f"-I{source.parent}"), sanitizer)


def build_ptx_module(ptx: str) -> HostModule:
    """Compiles what NVRTC made of a source (`ptx_translator`), no product joined to a sum."""
    flags = ("-O1", "-ffp-contract=off", f"-I{SOURCE_DIR}")
    return _build(translate(ptx), flags, Sanitizer.NONE)


def _build(body: str, flags: Sequence[str], sanitizer: Sanitizer) -> HostModule:
    command = ["g++", *_FLAGS, *_KERNEL_FLAGS[sanitizer], *flags]
    command += [f"-I{HOST_DIR}", f"-I{SOURCE_DIR}", "-shared", "-x", "c++", "-", "-x", "none"]
    command += [str(path) for path in _scheduler_objects(sanitizer)]
    headers = "".join(
        path.read_text("utf-8")
        for directory in (HOST_DIR, SOURCE_DIR)
        for path in sorted(directory.glob("*.*h"))
    )
    return HostModule(_compile(command, "module", ".so", body, headers))


@cache
def _scheduler_objects(sanitizer: Sanitizer) -> tuple[Path, ...]:
    headers = "".join(path.read_text("utf-8") for path in sorted(HOST_DIR.glob("*.h")))
    flags = _SCHEDULER_FLAGS.get(sanitizer, ())
    command = ["g++", *_FLAGS, "-O2", *flags, f"-I{HOST_DIR}", "-x", "c++", "-c", "-"]
    return tuple(
        _compile(command, name, ".o", (HOST_DIR / name).read_text("utf-8"), headers)
        for name in ("scheduler.cpp", "faults.cpp")
    )


def _compile(command: Sequence[str], name: str, suffix: str, body: str, headers: str) -> Path:
    """The compiler's output, kept under the hash of all that went into it."""
    key = hashlib.sha256("\0".join((*command, body, headers)).encode()).hexdigest()[:20]
    path = _CACHE / f"{name}-{key}{suffix}"
    if path.exists():
        return path
    _CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=_CACHE, suffix=suffix, delete=False) as file:
        made = Path(file.name)
    subprocess.run([*command, "-o", str(made)], input=body, text=True, check=True)
    return made.replace(path)


def _launcher(kernel: str) -> str:
    return (
        'extern "C" int cuda_host_launch(void (*)(void**), const void*, void**);\n'
        f'extern "C" int run_{kernel}(const void* launch, void** args) {{\n'
        f"    return cuda_host_launch(cuda_host::Thunk<&{kernel}>::run, launch, args);\n}}"
    )


def _three(sizes: Sequence[int]) -> Any:
    return (ctypes.c_uint * 3)(*sizes, *([1] * (3 - len(sizes))))
