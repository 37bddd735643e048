"""The native parts of a bundle: the CPU library of the target system, the cards' modules."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from bundling.programs import need
from bundling.tools import ROOT, PackagingError, capture, fresh, note, run

_CPU = ROOT / "kernels" / "cpu"
_BUILT = ROOT / "kernels" / "cuda" / "built"
_TOOLCHAIN = """set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR AMD64)
set(CMAKE_CXX_COMPILER {compiler})
"""


def build_cpu_library(python: Path) -> Path:
    """For the system that runs, as a source checkout does it."""
    note("compiling the CPU kernels ...")
    lines = capture([python, "-m", "kernels.cpu.build"], cwd=ROOT, timeout_s=3600).split("\n")
    return Path(lines[-2] if lines[-1] == "" else lines[-1])


def cross_compile_cpu_library(python: Path, work: Path) -> Path:
    """The DLL, by MinGW: all instruction sets, no other DLL needed. Kept by its sources' hash."""
    digest = capture([python, "-c", _PRINT_HASH], cwd=ROOT).strip()
    target = work / f"deepinfer_cpu-{digest}.dll"
    if target.is_file():
        return target
    note("compiling the CPU kernels for Windows (some minutes) ...")
    compiler = need("x86_64-w64-mingw32-g++-posix")
    toolchain = work / "mingw.cmake"
    toolchain.write_text(_TOOLCHAIN.format(compiler=compiler))
    folder = fresh(work / "mingw")
    cmake, ninja = _tool(python, "cmake"), _tool(python, "ninja")
    generator = ("-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}")
    run([cmake, "-S", _CPU, "-B", folder, f"-DCMAKE_TOOLCHAIN_FILE={toolchain}", *generator])
    run([cmake, "--build", folder, "--parallel", "2"], timeout_s=3600, log=work / "mingw.log")
    shutil.copy(folder / "libdeepinfer_cpu.dll", target)
    return target


_PRINT_HASH = "from kernels.cpu.build import source_hash; print(source_hash())"


def _tool(python: Path, name: str) -> str:
    beside = python.parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        raise PackagingError(f"{name} is needed: `pip install {name}`.")
    return found


def build_cuda_modules(python: Path) -> Path:
    """`kernels/cuda/built`, compiled anew when the sources have changed: about ten minutes."""
    if not _is_current(python):
        note("compiling the CUDA kernels for every card (about ten minutes) ...")
        run([python, "-m", "kernels.cuda.build"], cwd=ROOT, timeout_s=3600)
    return _BUILT


def _is_current(python: Path) -> bool:
    try:
        manifest = json.loads((_BUILT / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    code = "from kernels.cuda.source import hash_sources; print(hash_sources())"
    return bool(manifest.get("sources") == capture([python, "-c", code], cwd=ROOT).strip())
