"""The native library by ctypes: its functions, and their errors as exceptions.

ctypes releases the GIL for the length of each call. `src/api.h` is the interface; it, `structures`
and this file change together, and `ABI_VERSION` says so.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_uint32, c_void_p
from functools import cache
from pathlib import Path

from kernels.cpu import build
from kernels.cpu.structures import Config, Layer, LinearSource, Norm, Sampling

ABI_VERSION = 6


class NativeError(RuntimeError):
    """The library refused; the message is its reason."""


class NativeMemoryError(NativeError):
    """An allocation of the library failed."""


# What `src/api.cpp` says of std::bad_alloc.
_NO_MEMORY = "out of memory"


_SIGNATURES = {
    "di_abi_version": (c_int32, ()),
    "di_last_error": (c_char_p, ()),
    "di_instruction_sets": (c_char_p, ()),
    "di_context_create": (c_void_p, (c_char_p, c_int32)),
    "di_context_instruction_set": (c_char_p, (c_void_p,)),
    "di_context_destroy": (None, (c_void_p,)),
    "di_context_read": (c_int32, (c_void_p, c_void_p, c_int64, POINTER(c_uint32))),
    "di_linear_create": (c_void_p, (c_void_p, POINTER(LinearSource))),
    "di_linear_bytes": (c_int64, (c_void_p,)),
    "di_linear_apply": (c_int32, (c_void_p, c_void_p, c_void_p, c_int32, c_int32, c_void_p)),
    "di_linear_row": (c_int32, (c_void_p, c_void_p, c_int32, c_void_p)),
    "di_linear_destroy": (None, (c_void_p,)),
    "di_model_create": (
        c_void_p,
        (c_void_p, POINTER(Config), POINTER(Layer), c_void_p, POINTER(Norm), c_void_p),
    ),
    "di_model_forward": (
        c_int32,
        (c_void_p, c_int32, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p),
    ),
    "di_search_scales": (
        c_int32,
        (c_char_p, c_void_p, c_int64, c_int32, c_int32, c_void_p, c_int32, c_void_p, c_void_p),
    ),
    "di_round_to_grid": (
        c_int32,
        (c_char_p, c_void_p, c_void_p, c_int64, c_int32, c_int32, c_void_p, c_void_p),
    ),
    "di_unpack_blocks": (
        c_int32,
        (c_char_p, c_char_p, c_void_p, c_int64, c_int32, c_int32, c_void_p),
    ),
    "di_pack_cuda_tiles": (
        c_int32,
        (c_void_p, c_int64, c_int64, c_int32, c_int32, c_int32, c_void_p),
    ),
    "di_sample": (c_int32, (c_void_p, c_int32, POINTER(Sampling))),
    "di_model_sample": (
        c_int32,
        (c_void_p, c_int32, c_void_p, c_void_p, c_void_p, POINTER(POINTER(Sampling)), c_void_p),
    ),
    "di_model_map": (c_int32, (c_void_p, c_int32, c_void_p, c_int32)),
    "di_model_page_bytes": (c_int64, (c_void_p,)),
    "di_model_copy_page": (c_int32, (c_void_p, c_int32, c_int32)),
    "di_model_read_page": (c_int32, (c_void_p, c_int32, c_void_p)),
    "di_model_write_page": (c_int32, (c_void_p, c_int32, c_void_p)),
    "di_model_state_bytes": (c_int64, (c_void_p,)),
    "di_model_read_state": (c_int32, (c_void_p, c_int32, c_void_p)),
    "di_model_write_state": (c_int32, (c_void_p, c_int32, c_void_p)),
    "di_model_kv_bytes": (c_int64, (c_void_p,)),
    "di_model_workspace_bytes": (c_int64, (c_void_p,)),
    "di_model_destroy": (None, (c_void_p,)),
}


@cache
def load() -> ctypes.CDLL:
    """The library, built first where its sources are at hand. Raises kernels.cpu.build.BuildError.

    `DEEPINFER_CPU_LIBRARY` names another build of it (the tests' sanitizer builds).
    """
    library = ctypes.CDLL(os.environ.get("DEEPINFER_CPU_LIBRARY") or str(_find()))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    if library.di_abi_version() != ABI_VERSION:
        raise NativeError("The native library belongs to another version of the program.")
    return library


@cache
def is_available() -> bool:
    """Whether `load` works without building anything: for those who can do without the library."""
    has_built = not build.has_sources() or build.library_path().is_file()
    if not (os.environ.get("DEEPINFER_CPU_LIBRARY") or has_built):
        return False
    try:
        load()
    except (OSError, AttributeError, NativeError, build.BuildError):  # another version
        return False
    return True


def _find() -> Path:
    if build.has_sources():
        return build.build()
    shipped = sorted((Path(build.__file__).parent / "lib").glob("*deepinfer_cpu-*"))
    if not shipped:
        raise build.BuildError("This installation lacks its native CPU library; install it anew.")
    return shipped[0]


def instruction_sets() -> tuple[str, ...]:
    """Names this machine can run, best first; `portable` is always among them."""
    return tuple(load().di_instruction_sets().decode().split(","))


def check_handle(handle: int | None) -> int:
    """The handle a create function returned; raises NativeError with the reason when it is null."""
    if not handle:
        raise _last_error()
    return handle


def check_code(code: int) -> None:
    """Raises NativeError with the library's reason unless `code` is 0."""
    if code:
        raise _last_error()


def _last_error() -> NativeError:
    reason = load().di_last_error().decode()
    return NativeMemoryError(reason) if reason == _NO_MEMORY else NativeError(reason)
