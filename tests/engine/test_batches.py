"""What a sequence computes does not depend on what else runs in the step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from app.checkpoint.reader import Checkpoint
from app.converter.pipeline import convert
from app.engine.executors.base import Executor, LogitsWanted, SequenceChunk
from app.engine.executors.cpu import CpuExecutor
from app.engine.executors.cuda.executor import CudaExecutor
from app.engine.request import SamplingParams
from app.engine.sampling import Sampler
from app.spec.registry import create_spec
from tests.engine.test_kv_pages import CASES as CACHES
from tests.engine.test_kv_pages import SMALL
from tests.family_models import FamilyCase, write_folder
from tests.kernels.host_launcher import HostLauncher

CONTEXT, NUM_SEQUENCES, NUM_STEPS = 300, 8, 4
CASES = CACHES | {
    "experts": FamilyCase(
        "experts", "mixtral", {**SMALL, "num_local_experts": 4, "num_experts_per_tok": 2}
    )
}
IDS = np.random.default_rng(3).integers(3, 97, (NUM_SEQUENCES + 1, CONTEXT)).astype(np.int32)
LENGTHS = [1, 9, 2, 40, 128, 254, 17, 8]  # of prompts; one goes over a page's border
Floats = npt.NDArray[np.float32]


@pytest.fixture(scope="module", params=CASES)
def model_dir(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A native folder of each case."""
    root = tmp_path_factory.mktemp("batches")
    convert(write_folder(CASES[request.param], root / "folder"), root / "model", grid="w4")
    return root / "model"


def open_executor(kind: type[Executor], model_dir: Path, **options: Any) -> Executor:
    with Checkpoint.open(model_dir) as checkpoint:
        spec = create_spec(checkpoint.config)
        return kind(checkpoint, spec, CONTEXT, NUM_SEQUENCES + 1, **options)


def prompt(slot: int) -> SequenceChunk:
    return SequenceChunk(slot, 0, IDS[slot, : LENGTHS[slot]])


def token(slot: int, step: int) -> SequenceChunk:
    at = LENGTHS[slot] + step
    return SequenceChunk(slot, at, IDS[slot, at : at + 1])


def run_alone(executor: Executor) -> list[list[Floats]]:
    """Logits of each sequence behind its prompt and each of its next tokens."""
    found = []
    for slot in range(NUM_SEQUENCES):
        rows = [executor.step([prompt(slot)])[0]]
        rows += [executor.step([token(slot, step)])[0] for step in range(NUM_STEPS)]
        found.append(rows)
    return found


def run_together(executor: Executor) -> list[list[Floats]]:
    """The same in steps of all sequences; prompts of another run beside two of them."""
    steps = [executor.step([prompt(slot) for slot in range(NUM_SEQUENCES)])]
    for step in range(NUM_STEPS):
        chunks = [token(slot, step) for slot in range(NUM_SEQUENCES)]
        if step % 2:
            other = SequenceChunk(NUM_SEQUENCES, 0, IDS[-1, : 60 * step], LogitsWanted.NONE)
            chunks.insert(step, other)
        steps.append([rows for rows in executor.step(chunks) if len(rows)])
    return [list(rows) for rows in zip(*steps, strict=True)]


@pytest.mark.parametrize("activations", ["fp32", "int8"])
@pytest.mark.parametrize("kv_dtype", ["fp16", "int8"])
def test_logits_of_a_batch_are_those_of_each_alone(
    model_dir: Path, activations: str, kv_dtype: str
) -> None:
    options = {"num_threads": 2, "activations": activations, "kv_dtype": kv_dtype}
    with closing(open_executor(CpuExecutor, model_dir, **options)) as executor:
        alone, together = run_alone(executor), run_together(executor)
    np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("activations", ["fp32", "int8"])
@pytest.mark.parametrize("kv_dtype", ["fp16", "int8"])
def test_logits_of_rows_of_one_sequence_are_those_of_each_alone(
    model_dir: Path, activations: str, kv_dtype: str
) -> None:
    """What lets guesses be checked together (`Executor.verify`)."""
    options = {"num_threads": 2, "activations": activations, "kv_dtype": kv_dtype}
    with closing(open_executor(CpuExecutor, model_dir, **options)) as executor:
        alone = [executor.step([SequenceChunk(0, n, IDS[0, n : n + 1])])[0][0] for n in range(24)]
        for slot, num_rows in enumerate((2, 3, 4, 8), start=1):
            executor.step([SequenceChunk(slot, 0, IDS[0, :16], LogitsWanted.NONE)])
            rows = SequenceChunk(slot, 16, IDS[0, 16 : 16 + num_rows], LogitsWanted.ALL)
            together = executor.step([rows])[0]
            np.testing.assert_array_equal(together, alone[16 : 16 + num_rows])


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Executor]:
    """Of fibers; one case does, since the kernels of each take seconds to compile."""
    root = tmp_path_factory.mktemp("card")
    convert(write_folder(CASES["window"], root / "folder"), root / "model", grid="w4")
    with closing(open_executor(CudaExecutor, root / "model", launcher=HostLauncher())) as executor:
        yield executor


def draw(executor: Executor, slots: Sequence[int]) -> list[list[int]]:
    """Greedy tokens of the sequences, all in each step."""
    greedy = SamplingParams(temperature=0.0)
    samplers = [Sampler(greedy, [], executor.spec.vocab_size) for _ in slots]
    lengths = [2 + slot for slot in slots]
    for slot, length in zip(slots, lengths, strict=True):
        executor.step([SequenceChunk(slot, 0, IDS[slot, :length], LogitsWanted.NONE)])
    drawn = [[int(IDS[slot, length])] for slot, length in zip(slots, lengths, strict=True)]
    for step in range(NUM_STEPS):
        chunks = [
            SequenceChunk(slot, length + step, np.array(tokens[-1:], np.int32))
            for slot, length, tokens in zip(slots, lengths, drawn, strict=True)
        ]
        for tokens, found in zip(drawn, executor.sample(chunks, samplers), strict=True):
            assert found is not None
            tokens.append(found)
    return drawn


def test_a_card_draws_in_a_batch_what_it_draws_for_each_alone(card: Executor) -> None:
    alone = [draw(card, [slot])[0] for slot in range(NUM_SEQUENCES)]
    assert draw(card, range(NUM_SEQUENCES)) == alone
