"""Our executors against given logits: prefill whole, in chunks, and token by token."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.checkpoint.reader import Checkpoint
from app.core.jobs import CancelToken
from app.engine.executors.base import Executor, LogitsWanted, SequenceChunk
from app.engine.executors.cpu import CpuExecutor
from app.engine.executors.factory import executor_class
from app.spec.registry import create_spec
from app.validation.random_network import Logits, RandomNetwork, Tokens

EXECUTORS = ("reference", "cpu")
# float32 on both sides. A wrong fact moves logits by a hundred times as much.
MAX_ERROR = 1e-3
MIN_COSINE = 0.9999


@dataclass(frozen=True, slots=True)
class Agreement:
    """`error` is the largest absolute one over the largest logit, or over 1 if that is smaller."""

    run: str
    max_abs_error: float
    error: float
    cosine: float

    @property
    def is_close(self) -> bool:
        """Whether nothing but rounding differs."""
        return self.error <= MAX_ERROR and self.cosine >= MIN_COSINE


def compare(run: str, got: Logits, want: Logits) -> Agreement:
    """`cosine` is the smallest of all rows; not a number anywhere counts as far."""
    difference = float(np.abs(got - want).max())
    scale = max(1.0, float(np.abs(want).max()))
    products = (got.astype(np.float64) * want).sum(axis=1)
    norms = np.linalg.norm(got.astype(np.float64), axis=1) * np.linalg.norm(want, axis=1)
    cosine = float((products / np.maximum(norms, 1e-30)).min())
    if not np.isfinite([difference, cosine]).all():
        return Agreement(run, float("inf"), float("inf"), -1.0)
    return Agreement(run, difference, difference / scale, cosine)


@contextmanager
def opened_executor(kind: str, directory: Path, max_model_len: int) -> Iterator[Executor]:
    """The executor `reference` or `cpu` of a native folder, all in float32 but its weights."""
    with Checkpoint.open(directory) as checkpoint:
        spec = create_spec(checkpoint.config)
        executor: Executor = (
            CpuExecutor(checkpoint, spec, max_model_len, kv_dtype="fp32", activations="fp32")
            if kind == "cpu"
            else executor_class(kind)(checkpoint, spec, max_model_len)
        )
        with closing(executor):
            yield executor


def run_network(
    network: RandomNetwork, runs: Mapping[str, Sequence[int]], cancel: CancelToken
) -> list[Agreement]:
    """Every run in both executors; a run gives the sizes of its chunks."""
    found = []
    for kind in EXECUTORS:
        cancel.check()
        with opened_executor(kind, network.checkpoint, len(network.tokens)) as executor:
            for name, sizes in runs.items():
                got = run_chunks(executor, network.tokens, sizes, len(network.logits), cancel)
                found.append(compare(f"{kind}, {name}", got, network.logits))
    return found


def run_chunks(
    executor: Executor, tokens: Tokens, sizes: Sequence[int], kept: int, cancel: CancelToken
) -> Logits:
    """Logits [kept, vocab_size] of the last tokens, run in chunks of `sizes` from position 0."""
    rows, start = [], 0
    for size in sizes:
        cancel.check()
        stop = start + size
        is_wanted = stop > len(tokens) - kept
        wanted = LogitsWanted.ALL if is_wanted else LogitsWanted.NONE
        rows.append(executor.step([SequenceChunk(0, start, tokens[start:stop], wanted)])[0])
        start = stop
    return np.concatenate(rows)[-kept:]
