"""The memory plan beside the memory that a process takes: weights, cache and workspace, as bytes.

Each model, grid and context runs in a process of its own, which fills the context. `planned_bytes`
is what `app.engine.memory_plan` counts, `measured_bytes` what the process's peak is above what it
had before the load; `error` is the first over the second, less 1. `base_bytes`, Python and its
packages, is part of the reserve that the plan keeps free.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from gguf.constants import GGMLQuantizationType

from app.checkpoint.reader import Checkpoint
from app.engine.executors.base import PREFILL_CHUNK_TOKENS, LogitsWanted, SequenceChunk
from app.engine.executors.cpu import CpuExecutor
from app.engine.memory_plan import ExecutorCosts, plan_memory
from app.spec.registry import create_spec
from benchmarks.cpu_run import memory_bytes
from benchmarks.measure import command_line, own_home, print_json, run_json
from benchmarks.random_gguf import write_random_gguf

_UNLIMITED = 1 << 50
_MODELS = {"starter": ("exact", "w4", "w3", "w8"), "1B Q4_K": ("exact",)}


def measure(contexts: list[int], kv_dtypes: list[str], models: list[str]) -> list[dict[str, Any]]:
    """One row per model, grid, context and type of cache."""
    rows = []
    with own_home() as home:
        for name, grid, folder in _iter_folders(home, models):
            for context in contexts:
                for kv_dtype in kv_dtypes:
                    row = run_json(
                        "-m", "benchmarks.fit", "--child", str(folder), str(context), kv_dtype
                    )
                    rows.append({"model": name, "grid": grid, **row})
    return rows


def _iter_folders(home: Path, models: list[str]) -> Iterator[tuple[str, str, Path]]:
    for name in models:
        source = "starter"
        if name != "starter":
            source = str(write_random_gguf(home / f"{name}.gguf", GGMLQuantizationType.Q4_K))
        for grid in _MODELS[name]:
            folder = home / f"{name} {grid}"
            run_json("-m", "app", "convert", source, "-o", str(folder), "--grid", grid, "--json")
            yield name, grid, folder


def run_one(folder: Path, context: int, kv_dtype: str) -> dict[str, Any]:
    """In this process: the plan, then the load and a full context."""
    base = memory_bytes("VmRSS")
    with Checkpoint.open(folder) as checkpoint:
        spec = create_spec(checkpoint.config)
        costs = ExecutorCosts(CpuExecutor.plan_weights_bytes(checkpoint, spec), kv_dtype)
        plan = plan_memory(spec, costs, _UNLIMITED, context)
        executor = CpuExecutor(checkpoint, spec, context, kv_dtype=kv_dtype, activations="int8")
    for start in range(0, context, PREFILL_CHUNK_TOKENS):
        token_ids = np.ones(min(PREFILL_CHUNK_TOKENS, context - start), np.int32)
        executor.step([SequenceChunk(0, start, token_ids, LogitsWanted.LAST)])
    held = executor.memory_use()
    measured = memory_bytes("VmHWM") - base
    executor.close()
    planned = {
        "weights": plan.weights_bytes,
        "kv": context * plan.kv_bytes_per_token,
        "workspace": plan.workspace_bytes,
    }
    total = sum(planned.values())
    return {
        "context_tokens": context,
        "kv_dtype": kv_dtype,
        "planned": planned,
        "held": {
            "weights": held.weights_bytes,
            "kv": held.kv_bytes,
            "workspace": held.workspace_bytes,
        },
        "base_bytes": base,
        "planned_bytes": total,
        "measured_bytes": measured,
        "error": total / measured - 1,
    }


def _parse_arguments() -> argparse.Namespace:
    parser = command_line(__doc__)
    parser.add_argument("--models", nargs="+", choices=list(_MODELS), default=list(_MODELS))
    parser.add_argument("--contexts", nargs="+", type=int, default=[256, 2048])
    parser.add_argument("--kv-dtypes", nargs="+", default=["fp16", "int8"])
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    arguments = _parse_arguments()
    if arguments.child:
        folder, context, kv_dtype = arguments.child
        sys.stdout.write(json.dumps(run_one(Path(folder), int(context), kv_dtype)))
    else:
        print_json(measure(arguments.contexts, arguments.kv_dtypes, arguments.models))
