"""What one wrong line of the device's sampler does: the tests of tokens must see each of them."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.core.errors import EngineError
from app.engine.sampling import Sampler
from kernels.cuda.sampling import RING_ENTRIES
from tests.kernels.cuda_host import Schedule
from tests.kernels.faulty_launcher import Fault, FaultyLauncher, plant
from tests.kernels.sampling_cases import PLAIN
from tests.kernels.sampling_device import SamplingDevice
from tests.kernels.test_cuda_sampling import weights_of_chunks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fibers are Linux's")

VOCAB = 3_001
COLD = replace(PLAIN, temperature=0.3, seed=3)
# Three rows fill the batch with a copy of the last.
ROWS = {
    "drawn": [replace(PLAIN, temperature=0.8, seed=5)],
    "likeliest": [replace(PLAIN, temperature=0.0)],
    "narrow": [
        replace(PLAIN, temperature=2.0, top_k=7, seed=1),
        replace(PLAIN, temperature=2.0, top_p=0.6, seed=2),
    ],
    "penalized": [
        replace(COLD, repetition_penalty=1.9),
        replace(COLD, presence_penalty=1.5),
        replace(COLD, frequency_penalty=0.5),
    ],
}
FAULTS: dict[str, tuple[str, Fault]] = {
    "the step stays": ("drawn", ("state.cuh", "s.step += 1;", "")),
    "the best token stays": ("likeliest", ("sampling.cu", "selection.best = 0;", "")),
    "least weight": ("drawn", ("sampling.cu", "weight >= s.least_weight", "weight > 2 * kOne")),
    "histograms stay": ("narrow", ("sampling.cu", "        bins[i] = 0;\n", "")),
    "the floor stays": ("narrow", ("sampling.cu", "args.selections[row].floor_key = 0;", "")),
    "all ties are kept": ("narrow", ("sampling.cu", "rank < selection.tie_limit", "true")),
    "no ties are counted": ("narrow", ("sampling.cu", "my_ties += ties[chunk];", "my_ties += 0;")),
    "seen tokens are not marked": ("penalized", ("state.cuh", "state.is_seen[at] = 1;", "")),
    "output is not counted": ("penalized", ("state.cuh", "state.num_output[at] += 1;", "")),
    "copies count, too": ("penalized", ("state.cuh", "if (s.counts_tokens) {", "{")),
    "products are fused": (
        "drawn",
        ("weights.cuh", "__dadd_rn(__dmul_rn(power, r), terms[i])", "power * r + terms[i]"),
    ),
}
SILENT: dict[str, Fault] = {
    "the sequence stays": ("state.cuh", "s.sequence = sequence + 1;", ""),
    "another entry": ("state.cuh", "sequence % kRingEntries", "sequence % (kRingEntries - 1)"),
    "the entry lacks its sequence": ("state.cuh", "static_cast<u64>(sequence) << 32 | ", ""),
    "blocks are counted on": ("sampling.cu", "if (*flag) *arrived = 0;", ""),
}


def differs(device: SamplingDevice, name: str) -> bool:
    """Whether any of some tokens is not Python's, or weighs something else."""
    samplers, twins = ([Sampler(each, [3], VOCAB) for each in ROWS[name]] for _ in range(2))
    num_padded = 1 << (len(samplers) - 1).bit_length()
    rng = np.random.default_rng(8)
    device.begin(samplers, num_padded)
    for step in range(RING_ENTRIES + 1 if name == "drawn" else 24):
        if name != "penalized" or step == 0:
            row = rng.normal(0, 0.3, VOCAB).astype(np.float32)
            if name != "drawn":
                row = np.round(8 * row, 1)  # many tokens tie
        if device.draw(np.repeat(row[None], num_padded, 0)) != [t.sample(row) for t in twins]:
            return True
        weights = device.chunk_weights()[0]
        if name == "drawn" and (weights != weights_of_chunks(row, ROWS[name][0])).any():
            return True
    return False


def test_without_a_fault_nothing_differs(tmp_path: Path) -> None:
    device = SamplingDevice(VOCAB, FaultyLauncher(plant([], tmp_path), "sampling.cu"))
    assert not any(differs(device, name) for name in ROWS)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_shows_in_the_tokens(name: str, tmp_path: Path) -> None:
    rows, fault = FAULTS[name]
    device = SamplingDevice(VOCAB, FaultyLauncher(plant([fault], tmp_path), "sampling.cu"))
    assert differs(device, rows)


@pytest.mark.parametrize("name", SILENT)
def test_a_token_that_is_not_told_is_an_error(name: str, tmp_path: Path) -> None:
    launcher = FaultyLauncher(plant([SILENT[name]], tmp_path), "sampling.cu")
    with pytest.raises(EngineError, match="did not write"):
        differs(SamplingDevice(VOCAB, launcher), "drawn")


@pytest.mark.parametrize(
    "fault",
    [
        ("sampling.cu", "    __syncthreads();  // until all have read the selection\n", ""),
        ("sampling.cu", "shared.high[bin] = 0;\n    __syncthreads();", "shared.high[bin] = 0;"),
        ("sampling.cu", "scratch, drawn);\n        __syncthreads();", "scratch, drawn);"),
    ],
)
def test_a_missing_barrier_shows_in_some_order(fault: Fault, tmp_path: Path) -> None:
    launcher = FaultyLauncher(plant([fault], tmp_path), "sampling.cu")
    device, found = SamplingDevice(VOCAB, launcher), []
    for schedule in Schedule:
        launcher.schedule = schedule
        found.append(differs(device, "narrow"))
    assert any(found)
