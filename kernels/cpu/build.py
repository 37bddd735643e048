"""Compiles the native library: `python -m kernels.cpu.build`. Standard library only.

The library's name carries a hash of its sources, so a second call costs nothing, a stale library is
never loaded, and a library in use (Windows locks those) is never overwritten.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent
_LIBRARY_FOLDER = _FOLDER / "lib"
_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
_BUILD_FOLDER = re.compile(r"build-(\d+)-.+")  # the process that builds in it
_PROCESS_QUERY_LIMITED_INFORMATION, _STILL_ACTIVE = 0x1000, 259  # Windows' processthreadsapi.h


class BuildError(RuntimeError):
    """The library cannot be built: one sentence for the user, and the tools' output in `log`."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


def source_hash(sanitize: str = "") -> str:
    """Hex digest of everything that goes into the library."""
    digest = hashlib.sha256(sanitize.encode())
    for path in [_FOLDER / "CMakeLists.txt", *sorted((_FOLDER / "src").iterdir())]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def library_path(sanitize: str = "") -> Path:
    """Where the library of these sources lies once it is built."""
    return _LIBRARY_FOLDER / f"deepinfer_cpu-{source_hash(sanitize)}{_SUFFIX}"


def has_sources() -> bool:
    """False in a bundle, which ships the library alone."""
    return (_FOLDER / "CMakeLists.txt").is_file()


def build(sanitize: str = "") -> Path:
    """Builds the library unless it is there; returns its path. Raises BuildError.

    `sanitize` names the compiler's sanitizers ("address,undefined") for a test build beside the
    ordinary one.
    """
    target = library_path(sanitize)
    if not target.is_file():
        _LIBRARY_FOLDER.mkdir(exist_ok=True)
        _remove_killed_builds()
        # A folder of its own and one rename: two processes may build at once.
        prefix = f"build-{os.getpid()}-"
        with tempfile.TemporaryDirectory(prefix=prefix, dir=_LIBRARY_FOLDER) as scratch:
            os.replace(_compile(Path(scratch), sanitize), target)
        _remove_stale(target, sanitize)
    return target


def _compile(scratch: Path, sanitize: str) -> Path:
    cmake = _find_tool("cmake", "CMAKE_BIN_DIR")
    if cmake is None:
        raise BuildError(
            "Building the CPU kernels needs CMake: `pip install cmake ninja` installs it."
        )
    _run(
        [
            cmake,
            "-S",
            str(_FOLDER),
            "-B",
            str(scratch),
            f"-DDEEPINFER_SANITIZE={sanitize}",
            *_generator(),
        ]
    )
    _run([cmake, "--build", str(scratch), "--config", "Release", "--parallel"])
    built = [path for path in scratch.rglob(f"*deepinfer_cpu{_SUFFIX}") if path.is_file()]
    if len(built) != 1:
        raise BuildError("Building the CPU kernels left no library behind.")
    return built[0]


def _generator() -> list[str]:
    """Ninja where it is found; on Windows CMake's own choice, which finds Visual Studio."""
    ninja = None if sys.platform == "win32" else _find_tool("ninja", "BIN_DIR")
    return ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"] if ninja else []


def _find_tool(name: str, folder_attribute: str) -> str | None:
    """On PATH, beside the interpreter, or in the PyPI package of that name."""
    beside = os.pathsep.join([os.environ.get("PATH", ""), str(Path(sys.executable).parent)])
    found = shutil.which(name, path=beside)
    if found or find_spec(name) is None:
        return found
    return shutil.which(name, path=getattr(__import__(name), folder_attribute, None))


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False
        )
    except OSError as error:
        raise BuildError(
            f"{Path(command[0]).name} could not be started: {error.strerror}."
        ) from error
    if done.returncode == 0:
        return
    log = done.stdout + done.stderr
    if "No CMAKE_CXX_COMPILER could be found" in log or "CMAKE_CXX_COMPILER not set" in log:
        raise BuildError(
            "Building the CPU kernels needs a C++ compiler: g++ on Linux (`apt install g++`), "
            "the Visual Studio Build Tools with C++ on Windows.",
            log,
        )
    raise BuildError("Building the CPU kernels failed; the log has the compiler's words.", log)


def _remove_stale(current: Path, sanitize: str) -> None:
    if sanitize:
        return
    keep = {current, library_path("address,undefined"), library_path("thread")}
    for path in _LIBRARY_FOLDER.glob(f"deepinfer_cpu-*{_SUFFIX}"):
        if path not in keep:
            # In use on Windows: it goes with a later build.
            try:
                path.unlink()
            except PermissionError:
                continue


def _remove_killed_builds() -> None:
    """What builds left behind that could not end by themselves."""
    for folder in _LIBRARY_FOLDER.glob("build-*"):
        found = _BUILD_FOLDER.fullmatch(folder.name)
        if found is None or not _is_running(int(found[1])):
            shutil.rmtree(folder, ignore_errors=True)


def _is_running(pid: int) -> bool:
    if sys.platform == "win32":
        kernel = ctypes.windll.kernel32
        handle = kernel.OpenProcess(_PROCESS_QUERY_LIMITED_INFORMATION, False, pid)
        exit_code = ctypes.c_ulong()
        kernel.GetExitCodeProcess(handle, ctypes.byref(exit_code))  # refused where there is none
        kernel.CloseHandle(handle)
        return exit_code.value == _STILL_ACTIVE
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # somebody else's
    return True


def main() -> int:
    """Builds, says where; exit code 1 and one sentence when it cannot."""
    try:
        path = build()
    except BuildError as error:
        sys.stderr.write(f"{error.log}{error}\n")
        return 1
    sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
