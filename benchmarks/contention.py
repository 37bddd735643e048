"""Decoding beside a busy process: throughput may halve, it must not collapse.

For each number of threads, tokens per second of the starter model alone and with one other process
that keeps a core busy, in turns; medians, and the share that is left.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from statistics import median

import numpy as np

from app.checkpoint.reader import Checkpoint
from app.core.device import describe_machine
from app.engine.executors.base import SequenceChunk
from app.engine.executors.cpu import CpuExecutor
from app.spec.registry import create_spec
from benchmarks.measure import Figures, command_line, own_home, print_json, run_json

_NUM_ROUNDS = 5
_NUM_TOKENS = 40


def measure(model_dir: Path, num_threads: int) -> Figures:
    """tok_s alone, beside a busy process, and the second over the first."""
    with Checkpoint.open(model_dir) as checkpoint:
        spec = create_spec(checkpoint.config)
        executor = CpuExecutor(
            checkpoint, spec, _NUM_TOKENS, num_threads=num_threads, activations="int8"
        )
    alone: list[float] = []
    beside: list[float] = []
    for _ in range(_NUM_ROUNDS):
        for rates, other in ((alone, nullcontext()), (beside, _busy_process())):
            with other:
                rates.append(_decode_rate(executor))
    executor.close()
    share = median(beside) / median(alone)
    return {"alone_tok_s": median(alone), "beside_tok_s": median(beside), "share": share}


def _decode_rate(executor: CpuExecutor) -> float:
    started = time.perf_counter()
    for position in range(_NUM_TOKENS):
        executor.step([SequenceChunk(0, position, np.array([7], np.int32))])
    return _NUM_TOKENS / (time.perf_counter() - started)


@contextmanager
def _busy_process() -> Iterator[None]:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        time.sleep(0.1)  # until it computes
        try:
            yield
        finally:
            process.kill()


def main() -> None:
    """As many threads as cores, and one more."""
    command_line(__doc__).parse_args()
    num_cores = describe_machine().num_cores
    with own_home() as home:
        model = str(home / "starter")
        run_json("-m", "app", "convert", "starter", "-o", model, "--json")
        print_json({n: measure(Path(model), n) for n in (num_cores, num_cores + 1)})


if __name__ == "__main__":
    main()
