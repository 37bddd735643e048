"""The device draws the token that Python's definition draws, whatever logits and parameters."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.core.errors import EngineError
from app.engine.request import SamplingParams
from app.engine.sampling import Sampler, candidates
from kernels.cuda.sampling import CHUNK_TOKENS, MAX_ROWS, RING_ENTRIES, num_chunks
from tests.kernels.cuda_host import Schedule
from tests.kernels.sampling_cases import CHANGES, LOGITS, PARAMS, PLAIN, Logits
from tests.kernels.sampling_device import SamplingDevice

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fibers are Linux's")

SMALL_VOCAB = 90


@pytest.fixture(scope="module")
def small() -> SamplingDevice:
    return SamplingDevice(SMALL_VOCAB)


def samplers_of(params: list[SamplingParams], vocab_size: int) -> list[Sampler]:
    """With something in the prompt, for the penalties."""
    return [Sampler(each, [0, vocab_size - 1], vocab_size) for each in params]


def assert_same_tokens(
    device: SamplingDevice, params: list[SamplingParams], logits: Logits, num_tokens: int
) -> None:
    """Tokens drawn one after the other from logits [rows, vocab_size]; the device counts alone."""
    python = samplers_of(params, logits.shape[1])
    device.begin(samplers_of(params, logits.shape[1]))
    for _ in range(num_tokens):
        expected = [sampler.sample(row) for sampler, row in zip(python, logits, strict=True)]
        assert device.draw(logits) == expected


def weights_of_chunks(logits: Logits, params: SamplingParams) -> npt.NDArray[np.uint64]:
    """What Python's definition gives consecutive tokens together."""
    weights = np.zeros(num_chunks(len(logits)) * CHUNK_TOKENS, np.uint64)
    ids, kept = candidates(logits, params)
    weights[ids] = kept
    return weights.reshape(-1, CHUNK_TOKENS).sum(1, dtype=np.uint64)


@settings(deadline=None, max_examples=150)
@given(st.lists(st.tuples(PARAMS, LOGITS), min_size=1, max_size=MAX_ROWS))
@example([(replace(PLAIN, top_p=0.5), [0.0] * 4)])
@example([(replace(PLAIN, temperature=1e-30), [1.0, 2.0, 2.0])])
@example([(replace(PLAIN, temperature=1e-300), [1.0, 2.0, 2.0])])
@example([(replace(PLAIN, repetition_penalty=1.7, temperature=0.0), [1e-38, -1e-38, 7e-39])])
@example([(replace(PLAIN, top_k=3, top_p=0.5), [1e-44, 3e-45, -1e-44, 0.0, -0.0])])
def test_tokens_equal_pythons(
    small: SamplingDevice, rows: list[tuple[SamplingParams, list[float]]]
) -> None:
    logits = np.full((len(rows), SMALL_VOCAB), -np.inf, np.float32)
    for row, (_, values) in zip(logits, rows, strict=True):
        row[: len(values)] = values
    assert_same_tokens(small, [params for params, _ in rows], logits, num_tokens=3)


@pytest.mark.parametrize("vocab_size", [5, 128, 32_000, 50_257, 151_936])
def test_tokens_of_a_whole_vocabulary_equal_pythons(vocab_size: int) -> None:
    device, rng = SamplingDevice(vocab_size), np.random.default_rng(vocab_size)
    for spread in (0.0, 2.0, 12.0):
        logits = rng.normal(0, spread, (MAX_ROWS, vocab_size)).astype(np.float32)
        for part in (CHANGES[:MAX_ROWS], CHANGES[-MAX_ROWS:]):
            params = [replace(PLAIN, seed=int(rng.integers(1 << 40)), **c) for c in part]
            assert_same_tokens(device, params, logits, num_tokens=2)


@pytest.mark.parametrize("spread", [0.001, 1.0, 9.0])
def test_weights_equal_pythons_to_the_last_bit(spread: float) -> None:
    vocab_size, rng = 9_000, np.random.default_rng(11)
    logits = rng.normal(0, spread, (MAX_ROWS, vocab_size)).astype(np.float32)
    params = [replace(PLAIN, temperature=float(t)) for t in rng.uniform(0.05, 3, MAX_ROWS)]
    device = SamplingDevice(vocab_size)
    device.begin(samplers_of(params, vocab_size))
    device.draw(logits)
    assert np.array_equal(
        device.chunk_weights(),
        [weights_of_chunks(row, each) for row, each in zip(logits, params, strict=True)],
    )


def test_the_likeliest_tokens_of_blocks_are_enough() -> None:
    device, rng = SamplingDevice(1000), np.random.default_rng(2)
    params = [replace(PLAIN, temperature=0.0)] * 3
    for spread in (0.0, 1.0):
        logits = np.round(rng.normal(0, spread, (3, 1000)), 1).astype(np.float32)
        device.begin(samplers_of(params, 1000))
        assert device.draw(logits, greedily=True) == logits.argmax(1).tolist()


@pytest.mark.parametrize("value", [float("nan"), -float("nan"), float("inf")])
@pytest.mark.parametrize("greedily", [False, True])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_that_are_not_finite_are_told(
    small: SamplingDevice, value: float, greedily: bool, temperature: float
) -> None:
    params = [replace(PLAIN, temperature=temperature)] * 3
    logits = np.zeros((3, SMALL_VOCAB), np.float32)
    logits[0, 70], logits[2] = value, -np.inf
    small.begin(samplers_of(params, SMALL_VOCAB))
    first, second, third = small.draw(logits, greedily=greedily)
    assert (first, third) == (-1, -1)
    assert second >= 0
    sampler = Sampler(PLAIN, [], SMALL_VOCAB)
    assert sampler.record(first) == -1
    with pytest.raises(EngineError, match="not finite"):
        sampler.check()
    # Nothing is left behind of it.
    assert_same_tokens(small, params, np.zeros_like(logits), num_tokens=2)


@pytest.mark.parametrize("schedule", list(Schedule))
@pytest.mark.parametrize("reverse_blocks", [False, True])
def test_any_order_of_threads_and_blocks_gives_the_same(
    schedule: Schedule, reverse_blocks: bool
) -> None:
    vocab_size = 9_001
    device = SamplingDevice(vocab_size)
    device.launcher.schedule, device.launcher.reverse_blocks = schedule, reverse_blocks
    # Many tokens of equal logits: the last one that top-p keeps is found by its id.
    logits = np.round(np.random.default_rng(5).normal(0, 2, (MAX_ROWS, vocab_size)), 1)
    params = [replace(PLAIN, seed=9, **changes) for changes in CHANGES[-MAX_ROWS:]]
    assert_same_tokens(device, params, logits.astype(np.float32), num_tokens=2)
    device.begin(samplers_of([replace(PLAIN, temperature=0.0)] * MAX_ROWS, vocab_size))
    assert device.draw(logits.astype(np.float32), greedily=True) == logits.argmax(1).tolist()


def test_a_copy_of_a_row_counts_nothing() -> None:
    params = replace(PLAIN, frequency_penalty=1.5, repetition_penalty=1.2, seed=4)
    logits = np.random.default_rng(6).normal(0, 1, (1, SMALL_VOCAB)).astype(np.float32)
    device, (python,) = SamplingDevice(SMALL_VOCAB), samplers_of([params], SMALL_VOCAB)
    device.begin(samplers_of([params], SMALL_VOCAB), num_padded=4)
    for _ in range(20):
        assert device.draw(np.repeat(logits, 4, 0)) == [python.sample(logits[0])]


def test_the_ring_goes_round(small: SamplingDevice) -> None:
    logits = np.random.default_rng(7).normal(0, 1, (2, SMALL_VOCAB)).astype(np.float32)
    params = [replace(PLAIN, seed=1), replace(PLAIN, seed=2, presence_penalty=0.3)]
    assert_same_tokens(small, params, logits, num_tokens=2 * RING_ENTRIES + 5)
    old = small.sequence - RING_ENTRIES
    assert small.state.has_arrived(2, small.sequence)
    assert not small.state.has_arrived(2, old)
    assert not small.state.has_arrived(2, small.sequence + 1)
