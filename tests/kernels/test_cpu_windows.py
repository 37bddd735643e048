"""The library for Windows, cross-compiled, computes under Wine what this machine's own does."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kernels.cpu import build

_CROSS = shutil.which("x86_64-w64-mingw32-g++-posix")
_TOOLS = (_CROSS, shutil.which("wine"), shutil.which("g++"), shutil.which("cmake"))
_SOURCES = Path(build.__file__).parent
_DRIVER = Path(__file__).with_name("cpu_driver.cpp")
_TOOLCHAIN = """
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR AMD64)
set(CMAKE_CXX_COMPILER {compiler})
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not all(_TOOLS), reason="MinGW, Wine, g++ and CMake are not all here"),
]


def test_windows_computes_the_same_bits(tmp_path: Path) -> None:
    folder = tmp_path / "windows"
    toolchain = tmp_path / "toolchain.cmake"
    toolchain.write_text(_TOOLCHAIN.format(compiler=_CROSS))
    _run("cmake", "-S", _SOURCES, "-B", folder, f"-DCMAKE_TOOLCHAIN_FILE={toolchain}")
    _run("cmake", "--build", folder, "--parallel", "2")
    library = folder / "libdeepinfer_cpu.dll"
    _compile(_CROSS, folder / "driver.exe", library, "-static")
    wine = {"WINEDEBUG": "-all", "WINEPREFIX": str(tmp_path / "wine")}
    theirs = _run("wine", folder / "driver.exe", cwd=folder, **wine)
    here = shutil.copy(build.build(), tmp_path / "libdeepinfer_cpu.so")
    _compile("g++", tmp_path / "driver", Path(here))
    ours = _run(tmp_path / "driver", LD_LIBRARY_PATH=str(tmp_path))
    assert len(ours) >= 8  # a line per result of at least two instruction sets
    assert list(map(_comparable, theirs)) == list(map(_comparable, ours))


def _comparable(line: str) -> list[str]:
    """Without its hash where the C library's fmaf takes part, which MinGW's rounds twice."""
    words = line.split()
    return [*words[:-2], words[-1]] if words[0] == "portable" else words


def _compile(compiler: str | None, program: Path, library: Path, *flags: str) -> None:
    include = f"-I{_SOURCES / 'src'}"
    _run(compiler, "-O1", "-std=c++17", include, _DRIVER, library, "-o", program, *flags)


def _run(*command: object, cwd: Path | None = None, **environment: str) -> list[str]:
    """The lines on stdout."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()
