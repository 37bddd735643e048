"""The cuda executor on every family's tiny model, against the reference executor.

Activations are halfs here and float32 there, so that logits differ by some thousandths. In
mixtures of experts a token may take another expert that is nearly as good, and later ones see it:
rows are judged up to the first of which the reference is not sure. Graphs of chunks, of few rows
and of single ones all run.
"""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from app.checkpoint.reader import Checkpoint
from app.converter.pipeline import convert
from app.engine.executors.base import Executor, LogitsWanted, SequenceChunk
from app.engine.executors.cuda.executor import CudaExecutor
from app.engine.executors.cuda.measure import MeasuringAllocator
from app.engine.executors.cuda.weights import WeightsLoader
from app.engine.executors.reference import ReferenceExecutor
from app.engine.executors.reference.mlp import MixtureOfExperts
from app.engine.request import SamplingParams
from app.engine.sampling import Sampler
from app.engine.vram_plan import stored_weights_bytes
from app.spec.registry import create_spec
from tests.families.cases import CASES
from tests.family_models import TOKENS, FamilyCase, create_executor, write_folder
from tests.kernels.host_launcher import HostLauncher

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fibers are Linux's")

Floats = npt.NDArray[np.float32]
Tokens = npt.NDArray[np.int32]
PIECES = (21, 5, 1, 12, 1)  # a chunk, some rows, one row, another chunk, another row
NUM_GREEDY = 16
NUM_TRIES, ROUTER_ERROR = 8, 4e-3  # of logits of about 1
LEAST_ROWS = 4
GRIDS = ("dense", "w8", "w4")
MEDIAN, WORST = 5e-3, 3e-2
# Norms of 1 + w double what a layer reads.
MEDIANS = {"gemma": 1e-2, "gemma3": 1e-2, "gemma3_text": 1e-2}
# One for each computation: of these every grid's kernels are compiled in minutes, not all.
ALWAYS = {
    "llama": "dense",
    "gemma2": "dense",
    "starcoder2": "dense",
    "smollm3 window, nope and yarn": "dense",
    "olmo3": "dense",
    "ministral3": "dense",
    "granite": "dense",
    "glm4": "dense",
    "gpt oss": "dense",
    "qwen2 moe some layers": "w4",
    "glm4 moe groups": "dense",
    "deepseek v3": "dense",
    "deepseek v2 lite": "w8",
    "qwen3 next": "dense",
    "qwen3.5": "dense",
}


@dataclass(frozen=True)
class Conversion:
    """A family's model, with heads of a width that kernels run, and the grid it is stored on."""

    case: FamilyCase
    grid: str

    def __str__(self) -> str:
        return f"{self.case.name}-{self.grid}"

    @property
    def is_default(self) -> bool:
        return ALWAYS.get(self.case.name) == self.grid

    def write(self, root: Path) -> Path:
        """The native checkpoint."""
        folder = write_folder(self.case, root / "folder")
        convert(folder, root / "out", grid=self.grid, group_size=32, tokenizer_dir=folder)
        return root / "out"


def with_wider_heads(case: FamilyCase) -> FamilyCase:
    """Kernels run head_dim in steps of 8; many cases have 12 columns, by hidden_size 48."""
    if "kv_lora_rank" in case.changes:
        return case
    head_dim = case.changes.get("head_dim")
    if head_dim is None:
        return replace(case, changes={**case.changes, "hidden_size": 64})
    return replace(case, changes={**case.changes, "head_dim": -(-head_dim // 8) * 8})


def conversions() -> list[object]:
    found = [Conversion(with_wider_heads(case), grid) for case in CASES for grid in GRIDS]
    return [
        pytest.param(each, id=str(each), marks=() if each.is_default else pytest.mark.slow)
        for each in found
    ]


@pytest.mark.parametrize("conversion", conversions())
def test_a_family_computes_as_the_reference(conversion: Conversion, tmp_path: Path) -> None:
    model_dir = conversion.write(tmp_path)
    check_plan(model_dir)
    reference = create_executor(ReferenceExecutor, model_dir)
    with (
        closing(reference),
        closing(create_executor(CudaExecutor, model_dir, launcher=HostLauncher())) as mine,
    ):
        tokens, num_sure, wanted = run_sure(reference)
        found = run(mine, tokens, PIECES)
        errors = np.linalg.norm(found - wanted, axis=1) / np.linalg.norm(wanted, axis=1)
        assert np.median(errors[:num_sure]) <= MEDIANS.get(conversion.case.model_type, MEDIAN)
        assert errors[:num_sure].max() <= WORST
        if num_sure == len(errors):
            check_greedy(mine, reference, found[-1], wanted[-1])


def run_sure(reference: Executor) -> tuple[Tokens, int, Floats]:
    """Tokens, how many of their rows choose experts that small errors do not change, and logits.

    Of the beginnings that are tried, the first with some such rows.
    """
    for shift in range(0, len(TOKENS), 2):
        tokens = np.roll(TOKENS, -shift)
        num_sure, logits = _run_watched(reference, tokens)
        if num_sure >= LEAST_ROWS:
            return tokens, num_sure, logits
    raise AssertionError("The reference is sure of nothing.")


def _run_watched(reference: Executor, tokens: Tokens) -> tuple[int, Floats]:
    unsure = np.zeros(sum(PIECES), bool)
    route = MixtureOfExperts._route

    def watch(self: MixtureOfExperts, logits: Any) -> tuple[Any, Any]:
        chosen, weights = route(self, logits)
        for seed in range(NUM_TRIES):
            noise = np.random.default_rng(seed).standard_normal(logits.shape)
            other = route(self, logits + logits.new_tensor(ROUTER_ERROR * noise))[0]
            unsure[(chosen.sort().values != other.sort().values).any(1).numpy()] = True
        return chosen, weights

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MixtureOfExperts, "_route", watch)
        logits = run(reference, tokens, (sum(PIECES),))
    return int(np.argmax(unsure)) if unsure.any() else len(unsure), logits


def check_plan(model_dir: Path) -> None:
    """Weights take what is planned; matrices that are joined may take less."""
    allocator = MeasuringAllocator()
    with Checkpoint.open(model_dir) as checkpoint:
        spec = create_spec(checkpoint.config)
        planned = stored_weights_bytes(checkpoint, spec)
        WeightsLoader(allocator, checkpoint, spec).load()
    assert allocator.num_bytes <= planned <= 1.25 * allocator.num_bytes


def run(executor: Executor, tokens: Tokens, pieces: tuple[int, ...]) -> Floats:
    """All logits of the first tokens, run in pieces."""
    ends = np.cumsum(pieces)
    parts = zip(ends - pieces, ends, strict=True)
    chunks = [
        SequenceChunk(0, int(start), tokens[start:end], LogitsWanted.ALL) for start, end in parts
    ]
    return np.concatenate([executor.step([chunk])[0] for chunk in chunks])


def check_greedy(mine: Executor, reference: Executor, found: Floats, wanted: Floats) -> None:
    """Both go on from what they said last; equal as long as the reference is sure."""
    sampler = Sampler(SamplingParams(temperature=0.0), [], reference.spec.vocab_size)
    start, token_id = sum(PIECES), int(found.argmax())
    for position in range(start, start + NUM_GREEDY):
        first, second = np.sort(wanted)[::-1][:2]
        if first - second < WORST * np.linalg.norm(wanted):
            return
        assert token_id == wanted.argmax()
        chunk = SequenceChunk(0, position, np.array([token_id], np.int32))
        wanted = reference.step([chunk])[0][-1]
        drawn = mine.sample([chunk], [sampler])[0]
        assert drawn is not None
        token_id = drawn


@pytest.mark.parametrize("name", ["deepseek v3 yarn", "qwen3"])
def test_an_int8_cache_costs_little(name: str, tmp_path: Path) -> None:
    case = with_wider_heads(next(case for case in CASES if case.name == name))
    model_dir = Conversion(case, "dense").write(tmp_path)
    found = {}
    for kv_dtype in CudaExecutor.kv_dtypes:
        options = {"launcher": HostLauncher(), "kv_dtype": kv_dtype}
        with closing(create_executor(CudaExecutor, model_dir, **options)) as executor:
            found[kv_dtype] = run(executor, TOKENS, PIECES), executor.memory_use().kv_bytes
    errors = np.linalg.norm(found["int8"][0] - found["fp16"][0], axis=1)
    assert np.median(errors / np.linalg.norm(found["fp16"][0], axis=1)) <= 3e-2
    assert found["int8"][1] < 0.8 * found["fp16"][1]


class LogitsExecutor(CudaExecutor):
    """Tokens are drawn by Python, from downloaded logits."""

    sample = Executor.sample


def test_states_of_a_batch_go_on_by_themselves(tmp_path: Path) -> None:
    """Three sequences with linear layers, padded to four rows on the device."""
    case = with_wider_heads(next(case for case in CASES if case.name == "qwen3.5"))
    model_dir = Conversion(case, "dense").write(tmp_path)
    found = []
    for kind in (CudaExecutor, LogitsExecutor):
        options = {"launcher": HostLauncher(), "num_slots": 3}
        with closing(create_executor(kind, model_dir, **options)) as executor:
            found.append(decode_batch(executor))
    assert found[0] == found[1]


def decode_batch(executor: Executor) -> list[list[int]]:
    """Greedy tokens of a prompt of each slot, five steps."""
    vocab_size, lengths = executor.spec.vocab_size, [9, 14, 3]
    samplers = [Sampler(SamplingParams(temperature=0.0), [], vocab_size) for _ in lengths]
    prompts = [
        SequenceChunk(slot, 0, TOKENS[slot : slot + length]) for slot, length in enumerate(lengths)
    ]
    drawn = [executor.sample(prompts, samplers)]
    for _ in range(5):
        tokens = enumerate(zip(lengths, drawn[-1], strict=True))
        chunks = [
            SequenceChunk(slot, length, np.array([token], np.int32))
            for slot, (length, token) in tokens
        ]
        drawn.append(executor.sample(chunks, samplers))
        lengths = [length + 1 for length in lengths]
    return [[token for token in step if token is not None] for step in drawn]
