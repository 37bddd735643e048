"""The native library by ctypes: its structures, its functions, and their errors as exceptions.

ctypes releases the GIL for the length of each call. `src/api.h` is the interface; both change
together, and `ABI_VERSION` says so.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, Structure, c_char_p, c_float, c_int32, c_int64, c_void_p
from functools import cache
from pathlib import Path

from kernels.cpu import build

ABI_VERSION = 1


class NativeError(RuntimeError):
    """The library refused; the message is its reason."""


class LinearSource(Structure):
    """`di_linear_source`: a linear in the native checkpoint's layout."""

    _fields_ = (
        ("out_features", c_int32),
        ("in_features", c_int32),
        ("codes", c_int32),
        ("group_size", c_int32),
        ("scheme", c_int32),
        ("scale_type", c_int32),
        ("bias_type", c_int32),
        ("weight", c_void_p),
        ("scales", c_void_p),
        ("zeros", c_void_p),
        ("biases", c_void_p),
        ("super_scales", c_void_p),
        ("super_biases", c_void_p),
        ("perm", c_void_p),
        ("bias", c_void_p),
    )


class Config(Structure):
    """`di_config`: sizes and constants of a model."""

    _fields_ = (
        ("hidden_size", c_int32),
        ("intermediate_size", c_int32),
        ("num_layers", c_int32),
        ("num_heads", c_int32),
        ("num_kv_heads", c_int32),
        ("head_dim", c_int32),
        ("vocab_size", c_int32),
        ("rotary_dim", c_int32),
        ("max_model_len", c_int32),
        ("num_slots", c_int32),
        ("kv_half", c_int32),
        ("int8_activations", c_int32),
        ("rms_norm_eps", c_float),
        ("cos_sin_factor", c_float),
        ("inv_freq", c_void_p),
    )


class Layer(Structure):
    """`di_layer`: handles and norms of one decoder layer."""

    _fields_ = (
        ("q", c_void_p),
        ("k", c_void_p),
        ("v", c_void_p),
        ("o", c_void_p),
        ("gate", c_void_p),
        ("up", c_void_p),
        ("down", c_void_p),
        ("input_norm", c_void_p),
        ("post_attention_norm", c_void_p),
        ("q_norm", c_void_p),
        ("k_norm", c_void_p),
        ("sliding_window", c_int32),
    )


_SIGNATURES = {
    "di_abi_version": (c_int32, ()),
    "di_last_error": (c_char_p, ()),
    "di_instruction_sets": (c_char_p, ()),
    "di_context_create": (c_void_p, (c_char_p, c_int32)),
    "di_context_instruction_set": (c_char_p, (c_void_p,)),
    "di_context_destroy": (None, (c_void_p,)),
    "di_linear_create": (c_void_p, (c_void_p, POINTER(LinearSource))),
    "di_linear_bytes": (c_int64, (c_void_p,)),
    "di_linear_apply": (c_int32, (c_void_p, c_void_p, c_void_p, c_int32, c_int32, c_void_p)),
    "di_linear_row": (c_int32, (c_void_p, c_void_p, c_int32, c_void_p)),
    "di_linear_destroy": (None, (c_void_p,)),
    "di_model_create": (
        c_void_p,
        (c_void_p, POINTER(Config), POINTER(Layer), c_void_p, c_void_p, c_void_p),
    ),
    "di_model_forward": (
        c_int32,
        (c_void_p, c_int32, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p),
    ),
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
        raise NativeError(load().di_last_error().decode())
    return handle


def check_code(code: int) -> None:
    """Raises NativeError with the library's reason unless `code` is 0."""
    if code:
        raise NativeError(load().di_last_error().decode())
