"""NVRTC through ctypes: CUDA C++ to a cubin or PTX, with no driver and no card.

The library comes from the package nvidia-cuda-nvrtc-cu12, cuda_fp16.h from
nvidia-cuda-runtime-cu12.
API: docs.nvidia.com/cuda/nvrtc.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_LIBRARY_PATTERNS = {"win32": "bin/nvrtc64_*[0-9].dll"}
_LIBRARY_PATTERN = "lib/libnvrtc.so.12"
_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


class CompileError(Exception):
    """The compiler refused a source, or is not installed; `log` is what it printed."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


@dataclass(frozen=True, slots=True)
class Compiled:
    """What NVRTC made: a cubin for an `sm_..` target, PTX text for a `compute_..` one; its log."""

    image: bytes
    log: str


def compile_source(
    name: str, source: str, headers: Mapping[str, str], target: str, options: Sequence[str] = ()
) -> Compiled:
    """Compiles for `sm_86` (a cubin) or `compute_86` (PTX).

    `headers` are given by the name under which they are included, as are the toolkit's, so that no
    path reaches NVRTC, which cannot open those that are not ASCII on Windows. Raises CompileError.
    """
    library = _library()
    program = ctypes.c_void_p()
    headers = {**_toolkit_headers(), **headers}
    names, texts = _strings(list(headers)), _strings(list(headers.values()))
    _check(
        library.nvrtcCreateProgram(
            ctypes.byref(program), source.encode(), name.encode(), len(headers), texts, names
        ),
        "creating the program",
    )
    try:
        flags = (f"--gpu-architecture={target}", *options)
        code = library.nvrtcCompileProgram(program, len(flags), _strings(flags))
        log = _read(library, program, "ProgramLog").decode(errors="replace")
        if code:
            raise CompileError(f"{name} does not compile for {target}.", log)
        kind = "PTX" if target.startswith("compute_") else "CUBIN"
        return Compiled(_read(library, program, kind), log)
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def version() -> tuple[int, int]:
    """NVRTC's version, (12, 9)."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _check(_library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)), "asking the version")
    return major.value, minor.value


def is_installed() -> bool:
    """Whether both packages are there."""
    return _package_dir("cuda_nvrtc") is not None and _package_dir("cuda_runtime") is not None


@cache
def _library() -> ctypes.CDLL:
    directory = _package_dir("cuda_nvrtc")
    pattern = _LIBRARY_PATTERNS.get(sys.platform, _LIBRARY_PATTERN)
    found = sorted(directory.glob(pattern)) if directory else []
    if not found:
        raise CompileError("NVRTC is not installed (package nvidia-cuda-nvrtc-cu12).")
    return ctypes.CDLL(str(found[0]))


@cache
def _toolkit_headers() -> dict[str, str]:
    """cuda_fp16.h and all that it includes, by name."""
    directory, texts, wanted = _include_dir(), {}, ["cuda_fp16.h"]
    while wanted:
        name = wanted.pop()
        path = directory / name
        if name not in texts and path.is_file():
            texts[name] = path.read_text("utf-8")
            wanted += _INCLUDE.findall(texts[name])
    return texts


def _include_dir() -> Path:
    directory = _package_dir("cuda_runtime")
    if directory is None:
        raise CompileError("cuda_fp16.h is not installed (package nvidia-cuda-runtime-cu12).")
    return directory / "include"


def _package_dir(name: str) -> Path | None:
    try:
        spec = find_spec(f"nvidia.{name}")
    except ModuleNotFoundError:
        return None
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else None


def _strings(texts: Sequence[str]) -> ctypes.Array[ctypes.c_char_p]:
    return (ctypes.c_char_p * len(texts))(*(text.encode() for text in texts))


def _read(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    _check(getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)), f"reading {what}")
    buffer = ctypes.create_string_buffer(size.value)
    _check(getattr(library, f"nvrtcGet{what}")(program, buffer), f"reading {what}")
    # Text ends in a zero byte; a cubin is given whole.
    return buffer.raw if what == "CUBIN" else buffer.value


def _check(code: int, what: str) -> None:
    if code:
        raise CompileError(f"NVRTC failed with code {code} while {what}.")
