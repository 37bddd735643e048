"""NVRTC's PTX of the sampler, on the fibers, draws Python's tokens with Python's weights."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from kernels.cuda import nvrtc
from kernels.cuda.source import ModuleSource
from tests.kernels.cuda_host import HostModule, Schedule
from tests.kernels.host_launcher import HostLauncher
from tests.kernels.sampling_cases import CHANGES, PLAIN
from tests.kernels.sampling_device import SamplingDevice
from tests.kernels.test_cuda_ptx import ptx_module
from tests.kernels.test_cuda_sampling import (
    assert_same_tokens,
    samplers_of,
    weights_of_chunks,
)

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not nvrtc.is_installed(), reason="needs NVRTC and Linux's fibers"
)

VOCAB = 3_001
NUM_ROWS = 8


class PtxLauncher(HostLauncher):
    """Runs the PTX of everything."""

    def module(self, source: ModuleSource) -> HostModule:
        return ptx_module(source)


@pytest.fixture
def device() -> SamplingDevice:
    return SamplingDevice(VOCAB, PtxLauncher())


@pytest.mark.parametrize("schedule", [Schedule.IN_ORDER, Schedule.GREEDY_REVERSE])
def test_tokens_equal_pythons(device: SamplingDevice, schedule: Schedule) -> None:
    assert isinstance(device.launcher, HostLauncher)
    device.launcher.schedule = schedule
    rng = np.random.default_rng(1)
    for spread in (0.0, 2.0, 12.0):
        logits = np.round(rng.normal(0, spread, (NUM_ROWS, VOCAB)), 1).astype(np.float32)
        for part in (CHANGES[:NUM_ROWS], CHANGES[-NUM_ROWS:]):
            params = [replace(PLAIN, seed=int(rng.integers(1 << 40)), **each) for each in part]
            assert_same_tokens(device, params, logits, num_tokens=3)
        greedy = [replace(PLAIN, temperature=0.0)] * NUM_ROWS
        device.begin(samplers_of(greedy, VOCAB))
        assert device.draw(logits, greedily=True) == logits.argmax(1).tolist()


def test_weights_equal_pythons_to_the_last_bit(device: SamplingDevice) -> None:
    rng = np.random.default_rng(2)
    logits = rng.normal(0, 1, (NUM_ROWS, VOCAB)).astype(np.float32)
    params = [replace(PLAIN, temperature=float(t)) for t in rng.uniform(0.05, 3, NUM_ROWS)]
    device.begin(samplers_of(params, VOCAB))
    device.draw(logits)
    wanted = [weights_of_chunks(row, each) for row, each in zip(logits, params, strict=True)]
    assert np.array_equal(device.chunk_weights(), wanted)
