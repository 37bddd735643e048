"""The native code under sanitizers: no byte out of bounds, nothing undefined, no race."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernels.cpu import build

ROOT = Path(__file__).resolve().parents[2]
RUNTIMES = {"address,undefined": "libasan.so", "thread": "libtsan.so"}
PARTS = {"address,undefined": "everything", "thread": "threads"}
OPTIONS = {
    # The interpreter itself is not leak-free, and is not what is tested.
    "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1",
}


def runtime_path(sanitize: str) -> str:
    """The sanitizer's shared library, which must be loaded before the interpreter."""
    found = subprocess.run(
        ["g++", f"-print-file-name={RUNTIMES[sanitize]}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    return str(Path(found).resolve(strict=True))


@pytest.mark.skipif(sys.platform != "linux", reason="needs GCC's sanitizer runtimes")
@pytest.mark.parametrize("sanitize", RUNTIMES)
def test_sanitizer_stays_silent(sanitize: str) -> None:
    environment = {
        **os.environ,
        **OPTIONS,
        "LD_PRELOAD": runtime_path(sanitize),
        "DEEPINFER_CPU_LIBRARY": str(build.build(sanitize)),
        "PYTHONPATH": str(ROOT),
    }
    script = ROOT / "tests" / "kernels" / "exercise_cpu_kernels.py"
    done = subprocess.run(
        [sys.executable, str(script), PARTS[sanitize]],
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr[-4000:]
