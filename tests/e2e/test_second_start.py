"""The program is started again while its window is open: the first one gets the file."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from app.core.paths import home_dir, library_dir
from tests.gguf_factory import Q, TinyModel, to_gguf_tensors, write_gguf

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 120.0
COMMAND = [sys.executable, "-m", "app"]


@pytest.fixture
def window() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(COMMAND, cwd=ROOT) as process:
        yield process
        children = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        _gone, alive = psutil.wait_procs(children, timeout=30)
        assert alive == [], "workers outlive the window"


def test_a_second_start_hands_its_file_over(
    window: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    model = TinyModel("llama", hidden=128, heads=4, head_dim=32, inner=256)
    tensors = to_gguf_tensors(model, model.weights())
    types = {name: Q.Q4_1 for name in tensors if "norm" not in name}
    source = write_gguf(tmp_path / "模型 small.gguf", model, tensors, types)
    wait(lambda: (home_dir() / "instance.json").is_file())
    second = subprocess.run([*COMMAND, str(source)], cwd=ROOT, timeout=TIMEOUT_S)
    assert second.returncode == 0
    wait(lambda: (library_dir() / source.stem / "manifest.json").is_file())
    assert subprocess.run(COMMAND, cwd=ROOT, timeout=TIMEOUT_S).returncode == 0
    assert window.poll() is None


def wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
