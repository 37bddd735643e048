"""The program is started again while its window is open: the first one gets the file."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from app.core.paths import home_dir, library_dir, settings_path
from app.core.settings_store import SettingsStore
from tests.gguf_factory import Q, TinyModel, to_gguf_tensors, write_gguf

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 120.0
COMMAND = [sys.executable, "-m", "app"]


@pytest.fixture
def small_gguf(tmp_path: Path) -> Path:
    """In a folder whose name is no help either."""
    folder = tmp_path / "我的 models & more"
    folder.mkdir()
    model = TinyModel("llama", hidden=128, heads=4, head_dim=32, inner=256)
    tensors = to_gguf_tensors(model, model.weights())
    types = {name: Q.Q4_1 for name in tensors if "norm" not in name}
    return write_gguf(folder / "模型 small.gguf", model, tensors, types)


@pytest.fixture
def window() -> Iterator[subprocess.Popen[bytes]]:
    with running() as process:
        yield process


@contextmanager
def running(*arguments: str, folder: Path = ROOT) -> Iterator[subprocess.Popen[bytes]]:
    """The program, killed in the end; its workers see that."""
    path = os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))
    environment = {**os.environ, "PYTHONPATH": path}
    with subprocess.Popen([*COMMAND, *arguments], cwd=folder, env=environment) as process:
        yield process
        children = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        _gone, alive = psutil.wait_procs(children, timeout=30)
        assert alive == [], "workers outlive the window"


def test_a_second_start_hands_its_file_over(
    window: subprocess.Popen[bytes], small_gguf: Path
) -> None:
    source = small_gguf
    wait(lambda: (home_dir() / "instance.json").is_file())
    second = subprocess.run([*COMMAND, str(source)], cwd=ROOT, timeout=TIMEOUT_S)
    assert second.returncode == 0
    wait(lambda: (library_dir() / source.stem / "manifest.json").is_file())
    wait(lambda: last_model() == library_dir() / source.stem)  # and talked with
    assert subprocess.run(COMMAND, cwd=ROOT, timeout=TIMEOUT_S).returncode == 0
    assert window.poll() is None


@pytest.mark.slow
def test_a_start_with_a_file_converts_it_once_and_talks_with_it(
    small_gguf: Path, tmp_path: Path
) -> None:
    """As an association of files starts it; a path of its folder, with blanks and other letters."""
    made = library_dir() / small_gguf.stem
    for _ in range(2):
        with running(small_gguf.name, folder=small_gguf.parent):
            wait(lambda: last_model() == made)
        manifest = made / "manifest.json"
        SettingsStore(settings_path()).update(last_model="")
        first_time = manifest.stat().st_mtime_ns
    assert manifest.stat().st_mtime_ns == first_time


def last_model() -> Path:
    return Path(SettingsStore(settings_path()).values.last_model)


def wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
