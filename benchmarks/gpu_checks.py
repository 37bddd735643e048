"""What must hold on a card, whatever its speed: equal graphs, equal tokens, no leak."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from app.checkpoint.reader import Checkpoint
from app.converter.pipeline import convert
from app.engine.executors.base import Executor, LogitsWanted, SequenceChunk
from app.engine.executors.cpu import CpuExecutor
from app.engine.executors.cuda.executor import CudaExecutor
from app.engine.executors.cuda.launcher import Launcher
from app.engine.request import SamplingParams
from app.engine.sampling import Sampler
from app.hub.starter import require_starter
from app.spec.registry import create_spec
from benchmarks.gpu_speed import tiny_models
from benchmarks.random_card_model import create_executor

_CONTEXT = 128
_NUM_TOKENS, _TINY_NUM_TOKENS = 64, 2
_NUM_CYCLES, _TINY_NUM_CYCLES = 20, 3
_LEAK_BYTES = 4 << 20
_PROMPT = np.array([1, 504, 3575, 282, 4649, 314], np.int32)  # "The capital of France is"
CreateLauncher = Callable[[], Launcher]


def check_graph(create_launcher: CreateLauncher, is_tiny: bool) -> dict[str, Any]:
    """The logits of a graph and of its launches one by one, bit for bit."""
    model, logits = tiny_models()[0], []
    chunk = SequenceChunk(0, 0, np.arange(1, 9, dtype=np.int32), LogitsWanted.ALL)
    for launcher in (create_launcher(), _without_graphs(create_launcher())):
        with closing(create_executor(model, launcher, _CONTEXT)) as executor:
            logits.append(executor.step([chunk])[0])
    is_equal = logits[0].tobytes() == logits[1].tobytes() and bool(np.isfinite(logits[0]).all())
    return {"num_logits": logits[0].size, "is_equal": is_equal}


def _without_graphs(launcher: Launcher) -> Launcher:
    """The same, running launches where it would replay them."""
    launcher.capture = list  # type: ignore[method-assign, assignment]
    launcher.replay = launcher.run  # type: ignore[method-assign, assignment]
    return launcher


def check_greedy(create_launcher: CreateLauncher, is_tiny: bool) -> dict[str, Any]:
    """How many of the starter model's first tokens are the CPU's with float32 activations."""
    count = _TINY_NUM_TOKENS if is_tiny else _NUM_TOKENS
    with _starter() as checkpoint:
        spec = create_spec(checkpoint.config)
        with closing(CpuExecutor(checkpoint, spec, _CONTEXT, kv_dtype="fp32")) as cpu:
            wanted = _draw(cpu, count)
        card = CudaExecutor(checkpoint, spec, _CONTEXT, launcher=create_launcher())
        with closing(card):
            found = _draw(card, count)
    pairs = zip(found, wanted, strict=True)
    num_equal = next((i for i, (mine, other) in enumerate(pairs) if mine != other), count)
    return {"num_tokens": count, "num_equal": num_equal, "is_equal": num_equal == count}


def check_leaks(create_launcher: CreateLauncher, is_tiny: bool) -> dict[str, Any]:
    """The card's free memory after each of several loads and unloads."""
    model, free = tiny_models()[0], []
    for _ in range(_TINY_NUM_CYCLES if is_tiny else _NUM_CYCLES):
        launcher = create_launcher()
        with closing(create_executor(model, launcher, _CONTEXT)) as executor:
            executor.step([SequenceChunk(0, 0, np.zeros(1, np.int32))])
        probe = create_launcher()
        free.append(probe.memory().free_bytes)
        probe.close()
    # The first load may leave what the driver keeps for the process.
    lost = free[1] - free[-1]
    return {"num_cycles": len(free), "lost_bytes": lost, "is_equal": lost <= _LEAK_BYTES}


def _draw(executor: Executor, count: int) -> list[int | None]:
    """Greedy tokens behind the prompt."""
    sampler = Sampler(SamplingParams(temperature=0.0), _PROMPT.tolist(), executor.spec.vocab_size)
    tokens = executor.sample([SequenceChunk(0, 0, _PROMPT)], [sampler])
    for position in range(len(_PROMPT), len(_PROMPT) + count - 1):
        chunk = SequenceChunk(0, position, np.array(tokens[-1:], np.int32))
        tokens += executor.sample([chunk], [sampler])
    return tokens


@contextmanager
def _starter() -> Iterator[Checkpoint]:
    """Converted into a folder of its own."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="deepinfer-gpu-")))
        convert(require_starter(), folder / "starter")
        yield stack.enter_context(Checkpoint.open(folder / "starter"))
