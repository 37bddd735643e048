"""Tokens a second and each kernel's part of the memory's speed, on models of random weights."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from typing import Any

import numpy as np

from app.engine.bench import measure_speed
from app.engine.executors.base import SequenceChunk
from app.engine.executors.cuda.executor import CudaExecutor
from app.engine.executors.cuda.launcher import Launcher
from app.engine.executors.cuda.matrices import DeviceMatrix
from app.engine.executors.cuda.products import VectorProducts
from app.engine.executors.cuda.timing import measure_bandwidth, time_launches
from app.engine.request import SamplingParams
from app.engine.sampling import Sampler
from benchmarks.random_card_model import RandomModel, create_config, create_executor
from kernels.cuda.gemv import MAX_TOKENS, Epilogue, GemvVariant, Input
from kernels.cuda.pack import STEP_COLUMNS

_PROMPT, _GENERATED = 512, 128
_TINY_PROMPT, _TINY_GENERATED = 20, 3
_QUARTER = 4


def real_models() -> list[RandomModel]:
    """Llama-3.2-1B and Qwen2.5-3B at 4 bits; Qwen2.5-7B at 3 bits, each fourth layer at 4."""
    llama = create_config("llama", (2048, 8192, 16, 32, 8, 64, 128256), is_tied=True)
    qwen_3b = create_config("qwen2", (2048, 11008, 36, 16, 2, 128, 151936), is_tied=True)
    qwen_7b = create_config("qwen2", (3584, 18944, 28, 28, 4, 128, 152064), is_tied=False)
    return [
        RandomModel("Llama-3.2-1B w4", llama, lambda layer: 4),
        RandomModel("Qwen2.5-3B w4", qwen_3b, lambda layer: 4),
        RandomModel("Qwen2.5-7B w3w4", qwen_7b, lambda layer: 4 if layer % _QUARTER == 0 else 3),
    ]


def tiny_models() -> list[RandomModel]:
    """What fibers can run in seconds."""
    config = create_config("llama", (64, 128, 2, 2, 1, 32, 128), is_tied=False)
    return [RandomModel("tiny w3w4", config, lambda layer: 3 + layer)]


def measure_model(
    model: RandomModel, create_launcher: Callable[[], Launcher], is_tiny: bool
) -> dict[str, Any]:
    """Raises ResourceError where the card is too small."""
    num_prompt, num_generated = (
        (_TINY_PROMPT, _TINY_GENERATED) if is_tiny else (_PROMPT, _GENERATED)
    )
    length = num_prompt + num_generated + 1
    launcher = create_launcher()
    before = launcher.memory().free_bytes
    with closing(create_executor(model, launcher, length)) as executor:
        speed = measure_speed(executor, num_prompt, num_generated)
        _stand_at(executor, num_prompt)
        times = executor.time_decoding()
        memory = executor.memory_use()
        taken = before - launcher.memory().free_bytes
    copy = times.bandwidth.copy
    return {
        "prefill_tok_s": speed.prefill_tok_s,
        "prefill_s": num_prompt / speed.prefill_tok_s,
        "decode_tok_s": speed.decode_tok_s,
        "bandwidth_fraction": memory.weights_bytes * speed.decode_tok_s / copy,
        "step_of_kernels_s": times.step_s,
        "copy_bytes_per_s": copy,
        "read_bytes_per_s": times.bandwidth.read,
        **asdict(memory),
        "taken_bytes": taken,
        "kernels": [
            {**asdict(kernel), "bandwidth_fraction": kernel.fraction(copy)}
            for kernel in times.kernels
        ],
    }


def measure_matrix(create_launcher: Callable[[], Launcher], is_tiny: bool) -> dict[str, Any]:
    """A product with one matrix that is far too large for any cache, of one token and of eight."""
    shape = (64, 256) if is_tiny else (16384, 65536)
    launcher = create_launcher()
    try:
        matrix = _zeros(launcher, shape)
        times = [_time_product(launcher, matrix, rows) for rows in (1, MAX_TOKENS)]
        copy = measure_bandwidth(launcher).copy
    finally:
        launcher.close()
    return {
        "shape": f"{shape[0]} x {shape[1]}",
        "num_bytes": matrix.num_bytes,
        "bandwidth_fraction": matrix.num_bytes / times[0] / copy,
        "batch_8": times[1] / times[0],
    }


def _zeros(launcher: Launcher, shape: tuple[int, int]) -> DeviceMatrix:
    """w4 in groups of 128: what is read is what counts."""
    rows, columns = shape
    return DeviceMatrix(
        shape,
        GemvVariant(4),
        {
            "codes": launcher.allocate(rows * columns // 2),
            "scales": launcher.allocate(rows * columns // 64),
            "out_features": rows,
            "in_features": columns,
            "x_stride": columns,
            "num_steps": columns // STEP_COLUMNS,
            "num_groups": columns // 128,
        },
    )


def _time_product(launcher: Launcher, matrix: DeviceMatrix, num_rows: int) -> float:
    rows, columns = matrix.shape
    launches = VectorProducts().multiply(
        matrix,
        num_rows,
        x=launcher.allocate(2 * num_rows * columns),
        out=launcher.allocate(2 * num_rows * rows),
        input=Input.HALFS,
        epilogue=Epilogue.STORE_HALF,
    )
    return time_launches(launcher, list(launches))


def _stand_at(executor: CudaExecutor, position: int) -> None:
    """So that attention is timed over so many keys."""
    sampler = Sampler(SamplingParams(temperature=0.0), [], executor.spec.vocab_size)
    executor.sample([SequenceChunk(0, position, np.zeros(1, np.int32))], [sampler])
