"""kill -9 at random moments: `--resume` finishes, and the result is the same to the byte."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from app.converter import pipeline
from app.converter.pipeline import convert, plan_conversion
from app.converter.plan import Options
from app.converter.sources.detect import open_source
from app.converter.workdir import Job, WorkDir
from tests.converter.gptq_folder import create_folder
from tests.converter.test_budget import planned_workspace
from tests.converter.test_conversion import hashes, names_in
from tests.gguf_factory import Q, TinyModel, to_gguf_tensors, write_gguf

_NUM_KILLS = 20
_CHILD = """
import json, sys
from pathlib import Path
from app.converter.pipeline import convert, plan_conversion
print("imported", flush=True)
convert(Path(sys.argv[1]), Path(sys.argv[2]), resume=True, **json.loads(sys.argv[3]))
"""
_MODEL = TinyModel("llama", hidden=256, heads=4, head_dim=64, inner=704, layers=8, vocab=2048)
_EXACT, _W4 = {"grid": "exact"}, {"grid": "w4", "group_size": 32}
Arguments = dict[str, Any]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten parts that take some seconds to convert."""
    tensors = to_gguf_tensors(_MODEL, _MODEL.weights())
    types = {name: Q.Q8_0 for name in tensors if "ffn" in name and "norm" not in name}
    return write_gguf(tmp_path_factory.mktemp("source") / "model.gguf", _MODEL, tensors, types)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same sizes in GPTQ, its columns in another order."""
    made = create_folder(model=_MODEL, sym=False, act_order=True)
    return made.write(tmp_path_factory.mktemp("folder") / "gptq")


def w3w4(source: Path, tmp_path: Path) -> Arguments:
    """A budget below what 4 bits take, so that some layers get 3."""
    plan = plan_conversion(source, tmp_path / "planned", Options("w4", 32))
    # The embedding, an eighth of it, does not count: it is not tied.
    budget = int(0.8 * plan.output_bytes) + planned_workspace(source, tmp_path)
    return {"grid": "w3w4", "group_size": 32, "vram_budget": budget}


def start(source: Path, output: Path, options: Arguments) -> subprocess.Popen[str]:
    """A conversion in a process of its own, just before its first byte."""
    command = [sys.executable, "-c", _CHILD, str(source), str(output), json.dumps(options)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout
    assert child.stdout.readline() == "imported\n"
    child.stdout.close()
    return child


def measure_s(source: Path, folder: Path, options: Arguments) -> float:
    child = start(source, folder / "measured", options)
    started = time.monotonic()
    assert child.wait() == 0
    return time.monotonic() - started


def check_kills(source: Path, options: Arguments, tmp_path: Path, num_kills: int) -> list[str]:
    """After each kill `--resume` finishes, to the bytes of a conversion that nobody killed.

    Returns what is left beside them.
    """
    convert(source, tmp_path / "whole", **options)
    wanted = hashes(tmp_path / "whole")
    duration_s = measure_s(source, tmp_path, options)
    moments = random.Random(20260101)
    num_unfinished = 0
    for number in range(num_kills):
        output = tmp_path / f"killed-{number}"
        child = start(source, output, options)
        time.sleep(moments.uniform(0, 0.8 * duration_s))
        child.kill()
        child.wait()
        num_unfinished += not output.exists()
        assert not output.exists() or hashes(output) == wanted  # never half a checkpoint
        convert(source, output, **options, resume=True, overwrite=True)
        assert hashes(output) == wanted, f"kill {number}"
    assert num_unfinished >= num_kills // 4, "the kills came too late to mean anything"
    finished = {"whole", "measured", *(f"killed-{number}" for number in range(num_kills))}
    return [name for name in names_in(tmp_path) if name not in finished]


def test_killed_three_times(source: Path, tmp_path: Path) -> None:
    assert check_kills(source, _W4, tmp_path, num_kills=3) == []


@pytest.mark.slow
@pytest.mark.parametrize("options", [_EXACT, _W4], ids=["exact", "w4"])
def test_killed_at_random_moments(options: Arguments, source: Path, tmp_path: Path) -> None:
    assert check_kills(source, options, tmp_path, _NUM_KILLS) == []


@pytest.mark.slow
def test_killed_while_bits_are_chosen(source: Path, tmp_path: Path) -> None:
    assert check_kills(source, w3w4(source, tmp_path), tmp_path, _NUM_KILLS) == []


@pytest.mark.slow
def test_killed_while_a_folder_is_converted(folder: Path, tmp_path: Path) -> None:
    assert check_kills(folder, _EXACT, tmp_path, _NUM_KILLS) == []


@pytest.mark.slow
def test_killed_again_and_again_on_one_output(source: Path, tmp_path: Path) -> None:
    """Each run goes on where the one before was killed, until one is not."""
    convert(source, tmp_path / "whole", **_W4)
    duration_s = measure_s(source, tmp_path, _W4)
    moments = random.Random(7)
    output = tmp_path / "out"
    for _ in range(_NUM_KILLS):
        child = start(source, output, _W4)
        time.sleep(moments.uniform(0, duration_s / 3))
        child.kill()
        child.wait()
        if output.exists():
            break
    convert(source, output, **_W4, resume=True, overwrite=True)
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
