"""The real kernels under sanitizers: no byte out of bounds, none misaligned, no race."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kernels.cuda_host import Sanitizer
from tests.kernels.exercise_cuda_kernels import MODELS
from tests.kernels.test_cuda_host import FAILED, OPTIONS, RUNTIMES, _runtime

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs GCC's sanitizer runtimes")
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("sanitizer", [Sanitizer.ALIGNMENT, Sanitizer.ADDRESS, Sanitizer.THREAD])
def test_a_sanitizer_finds_nothing_in_the_kernels(sanitizer: Sanitizer, model: str) -> None:
    preload = {"LD_PRELOAD": _runtime(sanitizer)} if sanitizer in RUNTIMES else {}
    script = ROOT / "tests" / "kernels" / "exercise_cuda_kernels.py"
    done = subprocess.run(
        [sys.executable, str(script), str(sanitizer), model],
        env={**os.environ, **OPTIONS, **preload, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode != FAILED, done.stderr[-4000:]
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr[-4000:]
