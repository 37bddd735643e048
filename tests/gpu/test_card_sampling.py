"""The sampler on a real card draws Python's tokens, and the host sees them in the ring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from app.engine.executors.cuda.launcher import Launcher
from kernels.cuda.sampling import MAX_ROWS, RING_ENTRIES
from tests.kernels.sampling_cases import CHANGES, PLAIN
from tests.kernels.sampling_device import SamplingDevice
from tests.kernels.test_cuda_sampling import (
    assert_same_tokens,
    samplers_of,
    weights_of_chunks,
)

pytestmark = pytest.mark.gpu

VOCAB = 32_003


@pytest.fixture
def device(open_card: Callable[[], Launcher]) -> SamplingDevice:
    return SamplingDevice(VOCAB, open_card())


@pytest.mark.parametrize("spread", [0.0, 2.0, 12.0])
def test_tokens_equal_pythons(device: SamplingDevice, spread: float) -> None:
    rng = np.random.default_rng(3)
    logits = np.round(rng.normal(0, spread, (MAX_ROWS, VOCAB)), 2).astype(np.float32)
    for part in (CHANGES[:MAX_ROWS], CHANGES[-MAX_ROWS:]):
        params = [replace(PLAIN, seed=int(rng.integers(1 << 40)), **each) for each in part]
        assert_same_tokens(device, params, logits, num_tokens=4)
    device.launcher.close()


def test_weights_equal_pythons_to_the_last_bit(device: SamplingDevice) -> None:
    rng = np.random.default_rng(4)
    logits = rng.normal(0, 1, (MAX_ROWS, VOCAB)).astype(np.float32)
    params = [replace(PLAIN, temperature=float(t)) for t in rng.uniform(0.05, 3, MAX_ROWS)]
    device.begin(samplers_of(params, VOCAB))
    device.draw(logits)
    wanted = [weights_of_chunks(row, each) for row, each in zip(logits, params, strict=True)]
    assert np.array_equal(device.chunk_weights(), wanted)
    device.launcher.close()


def test_the_ring_goes_round(device: SamplingDevice) -> None:
    logits = np.random.default_rng(5).normal(0, 1, (2, VOCAB)).astype(np.float32)
    assert_same_tokens(device, [replace(PLAIN, seed=1)] * 2, logits, RING_ENTRIES + 9)
    device.launcher.close()
