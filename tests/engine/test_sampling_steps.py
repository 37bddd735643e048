"""Sampling by the executors: the same seed gives the same text natively and in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from app.checkpoint.reader import Checkpoint
from app.core.errors import EngineError
from app.engine.executors.base import Executor, LogitsWanted, SequenceChunk
from app.engine.executors.cpu import CpuExecutor
from app.engine.request import SamplingParams
from app.engine.sampling import Sampler
from app.spec.registry import create_spec
from tests.tiny_models import create_tiny_model, write_native

PROMPT = np.arange(5, 25, dtype=np.int32)
PARAMS = [
    SamplingParams(temperature=0.0),
    SamplingParams(temperature=1.2, seed=3),
    SamplingParams(temperature=0.8, top_k=20, top_p=0.9, min_p=0.02, seed=4),
    SamplingParams(temperature=0.9, repetition_penalty=1.2, frequency_penalty=0.3, seed=5),
]


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny native Llama."""
    return write_native(create_tiny_model("llama"), tmp_path_factory.mktemp("llama") / "model")


def create(model_dir: Path, **options: int) -> CpuExecutor:
    with Checkpoint.open(model_dir) as checkpoint:
        return CpuExecutor(checkpoint, create_spec(checkpoint.config), 256, 4, **options)


def samplers(executor: Executor) -> list[Sampler]:
    return [Sampler(params, PROMPT, executor.spec.vocab_size) for params in PARAMS]


def sample_by_python(
    executor: Executor, chunks: Sequence[SequenceChunk], drawing: Sequence[Sampler]
) -> list[int | None]:
    """By the definition, from logits."""
    pairs = zip(drawing, executor.step(chunks), strict=True)
    return [sampler.sample(rows[-1]) for sampler, rows in pairs]


def generate(
    executor: Executor, *, is_native: bool, num_tokens: int = 12
) -> list[list[int | None]]:
    """A reply of each of PARAMS, all in one batch."""
    drawing = samplers(executor)
    chunks = [SequenceChunk(slot, 0, PROMPT) for slot in range(len(PARAMS))]
    replies: list[list[int | None]] = []
    for step in range(num_tokens):
        run = executor.sample if is_native else partial(sample_by_python, executor)
        replies.append(run(chunks, drawing))
        chunks = [
            SequenceChunk(slot, len(PROMPT) + step, np.array([token_id], np.int32))
            for slot, token_id in enumerate(replies[-1])
        ]
    return replies


def test_native_replies_equal_pythons_on_any_number_of_threads(model_dir: Path) -> None:
    replies = []
    for num_threads, is_native in ((1, True), (3, True), (2, False)):
        executor = create(model_dir, num_threads=num_threads)
        replies.append(generate(executor, is_native=is_native))
        executor.close()
    assert replies[0] == replies[1] == replies[2]


def test_what_only_python_knows_comes_before_a_native_draw(model_dir: Path) -> None:
    """Biases rule most tokens out; the native sampler draws from the rest as the definition."""
    executor = create(model_dir)
    vocab_size = executor.spec.vocab_size
    bias = tuple((token_id, -100.0) for token_id in range(0, vocab_size, 2))
    chunks = [SequenceChunk(slot, 0, PROMPT) for slot in range(len(PARAMS))]
    biased = [replace(params, logit_bias=bias) for params in PARAMS]
    expected = [Sampler(params, PROMPT, vocab_size) for params in biased]
    drawing = [Sampler(params, PROMPT, vocab_size) for params in biased]
    drawn = executor.sample(chunks, drawing)
    assert drawn == sample_by_python(executor, chunks, expected)
    assert all(token_id is not None and token_id % 2 for token_id in drawn)
    executor.close()


def test_a_batch_with_one_that_needs_logits_draws_alike(model_dir: Path) -> None:
    executor = create(model_dir)
    chunks = [SequenceChunk(slot, 0, PROMPT) for slot in range(len(PARAMS))]
    plain = executor.sample(chunks, samplers(executor))
    drawing = samplers(executor)
    vocab_size = executor.spec.vocab_size
    drawing[1] = Sampler(PARAMS[1], PROMPT, vocab_size, num_logprobs=2)
    assert executor.sample(chunks, drawing) == plain
    assert drawing[0].logprobs is None
    assert drawing[1].logprobs is not None
    assert drawing[1].logprobs.chosen[0] == plain[1]
    executor.close()


def test_a_chunk_without_a_sampler_gives_no_token(model_dir: Path) -> None:
    executor = create(model_dir)
    chunks = [
        SequenceChunk(0, 0, PROMPT, LogitsWanted.NONE),
        SequenceChunk(1, 0, PROMPT[:3]),
    ]
    sampler = samplers(executor)[0]
    nothing, token_id = executor.sample(chunks, [None, sampler])
    assert nothing is None
    (logits,) = executor.step([SequenceChunk(2, 0, PROMPT[:3])])
    assert token_id == logits[0].argmax()
    assert (sampler.num_sampled, sampler.num_output[token_id]) == (1, 1)
    executor.close()


def test_a_closed_executor_draws_nothing(model_dir: Path) -> None:
    executor = create(model_dir)
    sampler = samplers(executor)[0]
    executor.close()
    with pytest.raises(EngineError, match="closed"):
        executor.sample([SequenceChunk(0, 0, PROMPT)], [sampler])
    assert sampler.num_sampled == 0
