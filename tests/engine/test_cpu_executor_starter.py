"""The cpu executor on the starter model, against the reference executor on the same checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import psutil
import pytest
from tokenizers import Tokenizer

from app.checkpoint.reader import Checkpoint
from app.engine.executors.base import LogitsWanted, SequenceChunk
from app.engine.executors.cpu import CpuExecutor
from app.engine.executors.reference import ReferenceExecutor
from app.spec.registry import create_spec

NUM_TOKENS = 64
# Relative L2 of the logits over a prompt and its reply; measured 3e-6 and 7e-4.
TOLERANCES = {"fp32": 2e-5, "fp16": 3e-3}
MAX_KL = {"fp32": 1e-8, "fp16": 1e-4}  # nats, of the worst position; measured 3e-10 and 3e-5
# With int8 activations the text may differ; measured 3.5e-3 nats on average, 97 % of the likeliest
# tokens equal.
INT8_MEAN_KL = 1e-2
INT8_TOP1 = 0.9
# With an int8 cache; measured 1.4e-3 nats on average, all of the likeliest tokens equal.
INT8_KV_MEAN_KL = 3e-3
PROMPT = (
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, "
    "trained by Hugging Face<|im_end|>\n"
    "<|im_start|>user\nExplain why the sky is blue to a child.<|im_end|>\n<|im_start|>assistant\n"
)


@pytest.fixture(scope="module")
def prompt_ids(starter_checkpoint: Path) -> npt.NDArray[np.int32]:
    """The prompt's token ids."""
    tokenizer = Tokenizer.from_file(str(starter_checkpoint / "tokenizer.json"))
    return np.array(tokenizer.encode(PROMPT).ids, np.int32)


@pytest.fixture(scope="module")
def reference(starter_checkpoint: Path) -> ReferenceExecutor:
    """The yardstick."""
    with Checkpoint.open(starter_checkpoint) as checkpoint:
        return ReferenceExecutor(checkpoint, create_spec(checkpoint.config), 256)


@pytest.fixture(scope="module")
def reply(reference: ReferenceExecutor, prompt_ids: npt.NDArray[np.int32]) -> list[int]:
    """The reference's greedy reply."""
    return greedy(reference, prompt_ids)


@pytest.fixture(params=["fp16", "fp32"])
def executor(starter_checkpoint: Path, request: pytest.FixtureRequest) -> Iterator[CpuExecutor]:
    """Both caches."""
    with Checkpoint.open(starter_checkpoint) as checkpoint:
        spec = create_spec(checkpoint.config)
        executor = CpuExecutor(checkpoint, spec, 256, kv_dtype=request.param)
    yield executor
    executor.close()


@pytest.fixture
def int8_executor(starter_checkpoint: Path) -> Iterator[CpuExecutor]:
    """Int8 activations, which are not the default."""
    with Checkpoint.open(starter_checkpoint) as checkpoint:
        spec = create_spec(checkpoint.config)
        executor = CpuExecutor(checkpoint, spec, 300, activations="int8")
    yield executor
    executor.close()


def greedy(executor: Any, prompt_ids: npt.NDArray[np.int32]) -> list[int]:
    """NUM_TOKENS tokens, each the likeliest."""
    token_ids: list[int] = []
    (logits,) = executor.step([SequenceChunk(0, 0, prompt_ids)])
    while len(token_ids) < NUM_TOKENS:
        token_ids.append(int(logits[0].argmax()))
        last = np.array(token_ids[-1:], np.int32)
        position = len(prompt_ids) + len(token_ids) - 1
        (logits,) = executor.step([SequenceChunk(0, position, last)])
    return token_ids


def log_softmax(logits: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Over the last axis, float64."""
    shifted = logits.astype(np.float64) - logits.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def divergence(
    want: npt.NDArray[np.float32], got: npt.NDArray[np.float32]
) -> npt.NDArray[np.float64]:
    """Kullback-Leibler divergence per position [n], nats."""
    log_p, log_q = log_softmax(want), log_softmax(got)
    return np.asarray((np.exp(log_p) * (log_p - log_q)).sum(axis=-1))


def test_greedy_reply_equals_the_reference(
    executor: CpuExecutor, prompt_ids: npt.NDArray[np.int32], reply: list[int]
) -> None:
    assert greedy(executor, prompt_ids) == reply


def test_logits_are_close_to_the_reference(
    executor: CpuExecutor,
    reference: ReferenceExecutor,
    prompt_ids: npt.NDArray[np.int32],
    reply: list[int],
) -> None:
    token_ids = np.concatenate([prompt_ids, np.array(reply, np.int32)])
    chunk = SequenceChunk(0, 0, token_ids, LogitsWanted.ALL)
    (want,), (got,) = reference.step([chunk]), executor.step([chunk])
    kv_dtype = executor.kv_dtype
    assert np.linalg.norm(got - want) / np.linalg.norm(want) < TOLERANCES[kv_dtype]
    assert divergence(want, got).max() < MAX_KL[kv_dtype]
    np.testing.assert_array_equal(got.argmax(axis=-1), want.argmax(axis=-1))


def test_chunked_prefill_equals_token_by_token(
    executor: CpuExecutor, prompt_ids: npt.NDArray[np.int32]
) -> None:
    (whole,) = executor.step([SequenceChunk(0, 0, prompt_ids, LogitsWanted.ALL)])
    for size in (1, 16):
        rows = [
            executor.step([SequenceChunk(0, i, prompt_ids[i : i + size], LogitsWanted.ALL)])[0]
            for i in range(0, len(prompt_ids), size)
        ]
        difference = np.linalg.norm(np.concatenate(rows) - whole) / np.linalg.norm(whole)
        assert difference < TOLERANCES[executor.kv_dtype]


def test_int8_activations_stay_near_the_reference(
    int8_executor: CpuExecutor,
    reference: ReferenceExecutor,
    prompt_ids: npt.NDArray[np.int32],
    reply: list[int],
) -> None:
    token_ids = np.concatenate([prompt_ids, np.array(reply, np.int32)])
    chunk = SequenceChunk(0, 0, token_ids, LogitsWanted.ALL)
    (want,), (got,) = reference.step([chunk]), int8_executor.step([chunk])
    assert divergence(want, got).mean() < INT8_MEAN_KL
    assert (got.argmax(axis=-1) == want.argmax(axis=-1)).mean() > INT8_TOP1


def test_an_int8_cache_stays_near_the_reference(
    starter_checkpoint: Path,
    reference: ReferenceExecutor,
    prompt_ids: npt.NDArray[np.int32],
    reply: list[int],
) -> None:
    token_ids = np.concatenate([prompt_ids, np.array(reply, np.int32)])
    chunk = SequenceChunk(0, 0, token_ids, LogitsWanted.ALL)
    with Checkpoint.open(starter_checkpoint) as checkpoint:
        spec = create_spec(checkpoint.config)
        executor = CpuExecutor(checkpoint, spec, 256, kv_dtype="int8")
    (want,), (got,) = reference.step([chunk]), executor.step([chunk])
    executor.close()
    assert divergence(want, got).mean() < INT8_KV_MEAN_KL


def test_int8_activations_do_not_depend_on_the_chunks(
    int8_executor: CpuExecutor, prompt_ids: npt.NDArray[np.int32]
) -> None:
    """Bit for bit, within a page of the cache and beyond it."""
    token_ids = np.tile(prompt_ids, 10)[:300]
    (whole,) = int8_executor.step([SequenceChunk(0, 0, token_ids, LogitsWanted.ALL)])
    for i in (0, 1, 40, 254, 255, 256, 257, 299):
        (row,) = int8_executor.step([SequenceChunk(0, i, token_ids[i : i + 1])])
        np.testing.assert_array_equal(row[0], whole[i])


def test_closing_makes_the_process_smaller(starter_checkpoint: Path) -> None:
    """Twice: an allocator that keeps what was freed does so from the second time on."""
    with Checkpoint.open(starter_checkpoint) as checkpoint:
        spec = create_spec(checkpoint.config)
        for _ in range(2):
            before = psutil.Process().memory_info().rss
            executor = CpuExecutor(checkpoint, spec, 256)
            executor.step([SequenceChunk(0, 0, np.ones(20, np.int32))])
            weights_bytes = executor.memory_use().weights_bytes
            held = psutil.Process().memory_info().rss - before
            executor.close()
            given_back = before + held - psutil.Process().memory_info().rss
            assert given_back > 0.9 * weights_bytes


def test_the_vocabulary_is_executed_quantized(starter_checkpoint: Path) -> None:
    """Embedding and head are one matrix here, kept as it is stored, with 8 bits."""
    with Checkpoint.open(starter_checkpoint) as checkpoint:
        spec = create_spec(checkpoint.config)
        executor = CpuExecutor(checkpoint, spec, 16, num_threads=1)
        weights_bytes = executor.memory_use().weights_bytes
        executor.close()
    # With 16 bits it would take a quarter more than everything on disk.
    assert weights_bytes < 1.02 * checkpoint.total_bytes
    assert spec.vocab_size * spec.hidden_size > 0.25 * checkpoint.total_bytes
