"""kill -9 at random moments: `--resume` finishes, and the result is the same to the byte."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from app.converter import pipeline
from app.converter.pipeline import convert
from app.converter.plan import Options
from app.converter.sources.detect import open_source
from app.converter.workdir import Job, WorkDir
from tests.converter.test_conversion import hashes, names_in
from tests.gguf_factory import Q, TinyModel, to_gguf_tensors, write_gguf

_NUM_KILLS = 20
_CHILD = """
import sys
from pathlib import Path
from app.converter.pipeline import convert
print("imported", flush=True)
convert(Path(sys.argv[1]), Path(sys.argv[2]), grid=sys.argv[3], group_size=32, resume=True)
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten parts that take some seconds to convert."""
    model = TinyModel("llama", hidden=256, heads=4, head_dim=64, inner=704, layers=8, vocab=2048)
    tensors = to_gguf_tensors(model, model.weights())
    types = {name: Q.Q8_0 for name in tensors if "ffn" in name and "norm" not in name}
    return write_gguf(tmp_path_factory.mktemp("source") / "model.gguf", model, tensors, types)


def start(source: Path, output: Path, grid: str) -> subprocess.Popen[str]:
    """A conversion in a process of its own, just before its first byte."""
    command = [sys.executable, "-c", _CHILD, str(source), str(output), grid]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout
    assert child.stdout.readline() == "imported\n"
    child.stdout.close()
    return child


def measure_s(source: Path, folder: Path, grid: str) -> float:
    started = time.monotonic()
    child = start(source, folder / "measured", grid)
    started = time.monotonic()
    assert child.wait() == 0
    return time.monotonic() - started


@pytest.mark.slow
@pytest.mark.parametrize("grid", ["exact", "w4"])
def test_killed_at_random_moments(grid: str, source: Path, tmp_path: Path) -> None:
    convert(source, tmp_path / "whole", grid=grid, group_size=32)
    wanted = hashes(tmp_path / "whole")
    duration_s = measure_s(source, tmp_path, grid)
    moments = random.Random(20260101)
    num_unfinished = 0
    for number in range(_NUM_KILLS):
        output = tmp_path / f"killed-{number}"
        child = start(source, output, grid)
        time.sleep(moments.uniform(0, 0.8 * duration_s))
        child.kill()
        child.wait()
        num_unfinished += not output.exists()
        assert not output.exists() or hashes(output) == wanted  # never half a checkpoint
        convert(source, output, grid=grid, group_size=32, resume=True, overwrite=True)
        assert hashes(output) == wanted, f"kill {number}"
    assert num_unfinished >= _NUM_KILLS // 4, "the kills came too late to mean anything"
    names = names_in(tmp_path)
    assert not [name for name in names if name.endswith((".partial", ".replaced"))]


@pytest.mark.slow
def test_killed_again_and_again_on_one_output(source: Path, tmp_path: Path) -> None:
    """Each run goes on where the one before was killed, until one is not."""
    convert(source, tmp_path / "whole", grid="w4", group_size=32)
    duration_s = measure_s(source, tmp_path, "w4")
    moments = random.Random(7)
    output = tmp_path / "out"
    for _ in range(_NUM_KILLS):
        child = start(source, output, "w4")
        time.sleep(moments.uniform(0, duration_s / 3))
        child.kill()
        child.wait()
        if output.exists():
            break
    convert(source, output, grid="w4", group_size=32, resume=True, overwrite=True)
    assert hashes(output) == hashes(tmp_path / "whole")
    assert names_in(tmp_path) == ["measured", "out", "whole"]


def test_killed_while_it_cleaned_up(source: Path, tmp_path: Path) -> None:
    """The output stands, of the working folder only the job is left: found by the kills above."""
    convert(source, tmp_path / "out")
    wanted = hashes(tmp_path / "out")
    work = WorkDir(tmp_path / "out")
    with closing(open_source(source)) as opened:
        job = Job.of(opened, Options("exact", 128), False, pipeline._TOOL)
    work.open(job, resume=False)
    shutil.rmtree(work.path / "parts")
    convert(source, tmp_path / "out", resume=True, overwrite=True)
    assert hashes(tmp_path / "out") == wanted
    assert not work.path.exists()
