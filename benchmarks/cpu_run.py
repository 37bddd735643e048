"""One run of the cpu executor in a fresh process, as JSON; `llama_cpp_run` is its counterpart."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

from app.checkpoint.reader import Checkpoint
from app.engine.executors.base import LogitsWanted, SequenceChunk
from app.engine.executors.cpu import CpuExecutor
from app.spec.registry import create_spec
from benchmarks.measure import command_line

_WARM_UP_TOKENS = 16  # after loading, before the first figure; llama_cpp_run has the same


def measure(
    path: Path, num_threads: int, num_prompt: int, num_generated: int, num_further: int
) -> dict[str, float]:
    """Seconds, tokens per second, bytes."""
    context_len = num_prompt + num_further + 2 * num_generated
    started = time.perf_counter()
    with Checkpoint.open(path) as checkpoint:
        spec = create_spec(checkpoint.config)
        executor = CpuExecutor(
            checkpoint, spec, context_len, num_threads=num_threads, activations="int8"
        )
    _run(executor, 0, np.ones(1, np.int32))
    load_s = time.perf_counter() - started
    rss_bytes = memory_bytes("VmRSS")
    rng = np.random.default_rng(0)
    prompt = rng.integers(0, spec.vocab_size, num_prompt + num_further, dtype=np.int32)
    _time_decode(executor, 0, _WARM_UP_TOKENS)
    decode_tok_s = num_generated / _time_decode(executor, 0, num_generated)
    started = time.perf_counter()
    _run(executor, 0, prompt[:num_prompt])
    prefill_tok_s = num_prompt / (time.perf_counter() - started)
    _run(executor, num_prompt, prompt[num_prompt:])
    decode_long_tok_s = num_generated / _time_decode(executor, len(prompt), num_generated)
    memory = executor.memory_use()
    executor.close()
    return {
        "load_s": load_s,
        "rss_bytes": rss_bytes,
        "prefill_tok_s": prefill_tok_s,
        "decode_tok_s": decode_tok_s,
        "decode_long_tok_s": decode_long_tok_s,
        "weights_bytes": float(memory.weights_bytes),
        "kv_bytes": float(memory.kv_bytes),
        "peak_rss_bytes": memory_bytes("VmHWM"),
    }


def _run(executor: CpuExecutor, start: int, token_ids: npt.NDArray[np.int32]) -> None:
    if len(token_ids):
        executor.step([SequenceChunk(0, start, token_ids, LogitsWanted.LAST)])


def _time_decode(executor: CpuExecutor, start: int, num_generated: int) -> float:
    started = time.perf_counter()
    for index in range(num_generated):
        _run(executor, start + index, np.array([1 + index], np.int32))
    return time.perf_counter() - started


def memory_bytes(field: str) -> float:
    """VmRSS or VmHWM of this process; `ru_maxrss` would be the parent's where that was larger."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(float(line.split()[1]) * 1024 for line in lines if line.startswith(field))


if __name__ == "__main__":
    parser = command_line(__doc__)
    parser.add_argument("path", type=Path, help="a native folder")
    for name in ("num_threads", "num_prompt", "num_generated", "num_further"):
        parser.add_argument(name, type=int)
    sys.stdout.write(json.dumps(measure(**vars(parser.parse_args()))))
