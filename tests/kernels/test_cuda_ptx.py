"""What a card gets - NVRTC's PTX, inline instructions and all - runs on the fibers too.

So the branches of ptx.cuh for the device are executed, not only their twins, and both give the same
bits.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.checkpoint.reader import Checkpoint
from app.checkpoint.schemes import QuantScheme, ScaleDtype, Scheme
from app.engine.executors.base import LogitsWanted, SequenceChunk
from app.engine.executors.cuda.executor import CudaExecutor
from app.spec.registry import create_spec
from kernels.cuda import nvrtc
from kernels.cuda.build import compile_module
from kernels.cuda.gemv import MAX_TOKENS
from kernels.cuda.source import ModuleSource
from tests.kernels.cuda_host import HostModule, build_ptx_module
from tests.kernels.exercise_cuda_kernels import CONFIG
from tests.kernels.host_launcher import HostLauncher, host_module
from tests.random_checkpoints import write_random

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not nvrtc.is_installed(), reason="needs NVRTC and Linux's fibers"
)

TARGET = "compute_86"
TRANSLATED = (
    "arrange.cu",
    "attention.cu",
    "gemm.cu",
    "gemv.cu",
    "norm.cu",
    "prefill_attention.cu",
)
_OF_ROWS = {"attention.cu", "gemv.cu"}
_OF_CHUNKS = {"arrange.cu", "gemm.cu", "prefill_attention.cu"}
SCHEMES = {
    "w4": QuantScheme(4, 128, Scheme.SYM, ScaleDtype.FP16),
    "w3": QuantScheme(3, 128, Scheme.SYM, ScaleDtype.FP16),
    "w8 zero": QuantScheme(8, 32, Scheme.ZERO, ScaleDtype.FP16),
    "Q4_K": QuantScheme(4, 32, Scheme.AFFINE, ScaleDtype.TWO_LEVEL),
}


@cache
def ptx_module(source: ModuleSource) -> HostModule:
    """Compiled once per process."""
    return build_ptx_module(compile_module(source, TARGET).image.decode())


class PtxLauncher(HostLauncher):
    """Runs the PTX of some files; `files` tells which it ran."""

    def __init__(self) -> None:
        super().__init__()
        self.files: set[str] = set()

    def module(self, source: ModuleSource) -> HostModule:
        if source.file not in TRANSLATED:
            return host_module(source)
        self.files.add(source.file)
        return ptx_module(source)


def logits(path: Path, launcher: HostLauncher, num_rows: int, kv_dtype: str) -> Any:
    """Of some tokens at once, then of one more."""
    with Checkpoint.open(path) as checkpoint:
        spec = create_spec(checkpoint.config)
        executor = CudaExecutor(checkpoint, spec, 200, launcher=launcher, kv_dtype=kv_dtype)
    with closing(executor):
        found = []
        for start in range(0, 20, num_rows):
            ids = np.arange(start, start + num_rows, dtype=np.int32)
            found.append(executor.step([SequenceChunk(0, start, ids, LogitsWanted.ALL)])[0])
        return np.concatenate(found)


@pytest.mark.parametrize(
    ("name", "num_rows", "kv_dtype"),
    [
        ("w4", 5, "fp16"),
        ("w4", 20, "fp16"),
        pytest.param("Q4_K", 20, "int8", marks=pytest.mark.slow),
        pytest.param("w4", 1, "int8", marks=pytest.mark.slow),
        pytest.param("w3", 5, "fp16", marks=pytest.mark.slow),
        pytest.param("w8 zero", 1, "fp16", marks=pytest.mark.slow),
        pytest.param("Q4_K", 1, "int8", marks=pytest.mark.slow),
    ],
)
def test_the_ptx_computes_the_bits_of_the_twins(
    name: str, num_rows: int, kv_dtype: str, tmp_path: Path
) -> None:
    path = write_random(create_spec(CONFIG), CONFIG, tmp_path / "x", SCHEMES[name])
    launcher = PtxLauncher()
    found = logits(path, launcher, num_rows, kv_dtype)
    wanted = logits(path, HostLauncher(), num_rows, kv_dtype)
    expected = _OF_CHUNKS if num_rows > MAX_TOKENS else _OF_ROWS
    assert expected <= launcher.files <= set(TRANSLATED)
    assert np.isfinite(found).all()
    difference = np.linalg.norm(found - wanted) / np.linalg.norm(wanted)
    assert found.tobytes() == wanted.tobytes(), difference


def test_an_unknown_instruction_does_not_compile() -> None:
    ptx = compile_module(ModuleSource("norm.cu"), TARGET).image.decode()
    with pytest.raises(subprocess.CalledProcessError):
        build_ptx_module(ptx.replace("add.ftz.f32", "add.unheard.f32"))
