"""The cuda executor on quantized weights: files of llama.cpp's quantizer, and grids of ours."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from app.checkpoint.reader import Checkpoint
from app.converter.pipeline import convert
from app.engine.executors.base import Executor, LogitsWanted, SequenceChunk
from app.engine.executors.cuda.executor import CudaExecutor
from app.engine.executors.reference import ReferenceExecutor
from app.spec.registry import create_spec
from tests.kernels.host_launcher import HostLauncher
from tests.quantized_folders import FIXTURES

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fibers are Linux's")

CONTEXT = 64
PROMPT = np.array([3, 14, 15, 9, 26, 53, 58], np.int32)
# Activations are halfs, and the cache; the reference computes in float32.
TOLERANCE = 4e-3


def logits_of(executor: Executor) -> npt.NDArray[np.float32]:
    with closing(executor):
        return executor.step([SequenceChunk(0, 0, PROMPT, LogitsWanted.ALL)])[0]


def distance(model_dir: Path) -> float:
    """Relative, of both executors' logits of a prompt; the largest of each row is the same."""
    with Checkpoint.open(model_dir) as checkpoint:
        spec = create_spec(checkpoint.config)
        mine = CudaExecutor(
            checkpoint,
            spec,
            CONTEXT,
            launcher=HostLauncher(),
        )
        wanted = logits_of(ReferenceExecutor(checkpoint, spec, CONTEXT))
        found = logits_of(mine)
    assert np.array_equal(found.argmax(-1), wanted.argmax(-1))
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


@pytest.mark.parametrize("name", ["Q2_K", "Q3_K", "Q4_K_M", "Q5_K", "Q8_0", "Q4_0", "Q4_1"])
def test_files_of_llama_cpp_run_as_they_decode(name: str, tmp_path: Path) -> None:
    convert(FIXTURES / "llama_cpp" / f"{name}.gguf", tmp_path / "out")
    assert distance(tmp_path / "out") <= TOLERANCE


@pytest.mark.parametrize("grid", ["w3", "w4"])
def test_our_own_grids_run_as_they_decode(grid: str, tmp_path: Path) -> None:
    source = FIXTURES / "llama_cpp" / "Q8_0.gguf"
    convert(source, tmp_path / "out", grid=grid, allow_lossy=True)
    assert distance(tmp_path / "out") <= TOLERANCE
