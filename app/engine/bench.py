"""How fast a loaded checkpoint is: prompt and decode tokens per second, without sampling and text.

Decoding is bound by memory: each step reads every weight once. `bandwidth_fraction` is the rate
at which weights were read over the rate at which this machine reads memory (measured here, all
cores): 1.0 is a decoder that only waits for the memory bus.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from app.core.device import describe_machine
from app.engine.executors.base import (
    PREFILL_CHUNK_TOKENS,
    Executor,
    LogitsWanted,
    SequenceChunk,
)
from app.engine.request import SamplingParams
from app.engine.sampling import Sampler
from kernels.cpu.native import Context

Progress = Callable[[int, int], None]

_READ_BYTES = 768 << 20  # well beyond every cache
_NUM_READS = 3
_SEED = 0
_NUM_WARM_UP_TOKENS = 8


@dataclass(frozen=True, slots=True)
class Speed:
    """Tokens per second over the whole batch."""

    prefill_tok_s: float
    decode_tok_s: float


def measure_speed(
    executor: Executor, num_prompt: int, num_generated: int, on_progress: Progress | None = None
) -> Speed:
    """Runs `num_prompt` random tokens, then `num_generated` steps, on every slot at once.

    Random tokens do: the work does not depend on them. Raises ContextLengthError when they do
    not fit.
    """
    rng = np.random.default_rng(_SEED)
    shape = (executor.num_slots, num_prompt + num_generated)
    token_ids = rng.integers(0, executor.spec.vocab_size, shape, dtype=np.int32)
    report = on_progress or (lambda done, total: None)
    _run_prompt(executor, token_ids[:, :_NUM_WARM_UP_TOKENS], lambda done, total: None)
    prefill_s = _time(lambda: _run_prompt(executor, token_ids[:, :num_prompt], report))
    decode = _draw if executor.draws_where_it_runs else _decode
    decode_s = _time(lambda: decode(executor, token_ids, num_prompt, report))
    slots = executor.num_slots
    return Speed(slots * num_prompt / prefill_s, slots * num_generated / decode_s)


def measure_read_bandwidth(num_threads: int | None = None) -> float:
    """Bytes per second of reading memory once, on all cores if not told otherwise; the best of
    three."""
    context = Context(num_threads or describe_machine().num_cores)
    data = np.ones(_READ_BYTES, dtype=np.uint8)
    times = [_time(lambda: context.read(data)) for _ in range(_NUM_READS)]
    context.close()
    return _READ_BYTES / min(times)


def _time(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def _run_prompt(executor: Executor, token_ids: np.ndarray, report: Progress) -> None:
    num_prompt = token_ids.shape[1]
    for start in range(0, num_prompt, PREFILL_CHUNK_TOKENS):
        stop = min(start + PREFILL_CHUNK_TOKENS, num_prompt)
        wanted = LogitsWanted.LAST if stop == num_prompt else LogitsWanted.NONE
        for slot, row in enumerate(token_ids):
            executor.step([SequenceChunk(slot, start, row[start:stop], wanted)])
        report(stop, num_prompt)


def _decode(executor: Executor, token_ids: np.ndarray, num_prompt: int, report: Progress) -> None:
    total = token_ids.shape[1]
    for position in range(num_prompt, total):
        column = token_ids[:, position : position + 1]
        executor.step([SequenceChunk(slot, position, ids) for slot, ids in enumerate(column)])
        report(position + 1, total)


def _draw(executor: Executor, token_ids: np.ndarray, num_prompt: int, report: Progress) -> None:
    """As a chat does: the likeliest token is the next one, wherever it is found."""
    vocab_size, total = executor.spec.vocab_size, token_ids.shape[1]
    samplers = [Sampler(SamplingParams(temperature=0.0), [], vocab_size) for _ in token_ids]
    drawn = token_ids[:, num_prompt].tolist()
    for position in range(num_prompt, total):
        chunks = [
            SequenceChunk(slot, position, np.array([token_id], np.int32))
            for slot, token_id in enumerate(drawn)
        ]
        drawn = executor.sample(chunks, samplers)
        for sampler in samplers:
            sampler.check()
        report(position + 1, total)
