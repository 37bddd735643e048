"""Pages of the cache and states of linear layers: shared, copied and kept by each executor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from app.checkpoint.reader import Checkpoint
from app.converter.pipeline import convert
from app.core.errors import EngineError
from app.engine.executors.base import KV_PAGE_TOKENS, Executor, LogitsWanted, SequenceChunk
from app.engine.executors.cpu import CpuExecutor
from app.engine.executors.cuda.decoding import Decoder
from app.engine.executors.cuda.executor import CudaExecutor
from app.engine.executors.reference import ReferenceExecutor
from app.engine.request import SamplingParams
from app.engine.sampling import Sampler
from app.spec.registry import create_spec
from tests.families.deepseek_cases import LATENT
from tests.families.hybrid_cases import CASES as HYBRID_CASES
from tests.family_models import FamilyCase, write_folder
from tests.kernels.host_launcher import HostLauncher

CONTEXT, NUM_PROMPT, NUM_SLOTS, NUM_PAGES = 700, 300, 3, 7
IDS = np.random.default_rng(11).integers(3, 97, 600).astype(np.int32)
OTHER_IDS = IDS[::-1].copy()
SMALL = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2}
HYBRID = next(case for case in HYBRID_CASES if case.name == "qwen3.5")
CASES = {
    "window": FamilyCase(
        "window", "phi3", {**SMALL, "sliding_window": 33, "max_position_embeddings": CONTEXT}
    ),
    "latent": FamilyCase("latent", "deepseek_v3", {**LATENT, "num_hidden_layers": 2}),
    "states": FamilyCase("states", HYBRID.model_type, {**HYBRID.changes, "hidden_size": 64}),
}


@dataclass(frozen=True)
class Kind:
    """An executor, and how it is made."""

    executor: type[Executor]
    options: dict[str, Any] = field(default_factory=dict)

    def open(self, model_dir: Path, num_pages: int | None = NUM_PAGES) -> Executor:
        options = dict(self.options)
        if issubclass(self.executor, CudaExecutor):
            options["launcher"] = HostLauncher()
        with Checkpoint.open(model_dir) as checkpoint:
            spec = create_spec(checkpoint.config)
            return self.executor(checkpoint, spec, CONTEXT, NUM_SLOTS, num_pages, **options)


KINDS = {
    "reference": Kind(ReferenceExecutor),
    "cpu": Kind(CpuExecutor, {"num_threads": 2, "kv_dtype": "fp32"}),
    "cpu-int8": Kind(CpuExecutor, {"num_threads": 1, "kv_dtype": "int8", "activations": "int8"}),
    "cuda": Kind(CudaExecutor),
    "cuda-int8": Kind(CudaExecutor, {"kv_dtype": "int8"}),
}
# Each of the card's kernels takes seconds to compile for the host.
PAIRS = [
    *((kind, case) for kind in ("reference", "cpu", "cpu-int8") for case in CASES),
    ("cuda", "window"),
    ("cuda-int8", "latent"),
    ("cuda", "states"),
]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A native folder of each case."""
    root = tmp_path_factory.mktemp("pages")
    for name, case in CASES.items():
        convert(write_folder(case, root / f"{name}-folder"), root / name, grid="w4")
    return {name: root / name for name in CASES}


@dataclass(frozen=True)
class Setup:
    """A kind with a model, and the executor whose slot 0 has run the prompt in pages 4 and 0."""

    kind: Kind
    model_dir: Path
    executor: Executor
    is_recurrent: bool


@pytest.fixture(params=PAIRS, ids="-".join)
def setup(request: pytest.FixtureRequest, models: dict[str, Path]) -> Iterator[Setup]:
    """Of each executor with each kind of cache."""
    kind, case = KINDS[request.param[0]], request.param[1]
    with closing(kind.open(models[case])) as executor:
        executor.map_pages(0, [4, 0])
        prefill(executor, 0)
        yield Setup(kind, models[case], executor, case == "states")


def prefill(executor: Executor, slot: int) -> None:
    """The prompt, in two pieces."""
    for start, stop in ((0, 200), (200, NUM_PROMPT)):
        executor.step([SequenceChunk(slot, start, IDS[start:stop], LogitsWanted.NONE)])


def go_on(
    executor: Executor, slot: int, ids: npt.NDArray[np.int32] = IDS, num_steps: int = 3
) -> npt.NDArray[np.float32]:
    """Logits of single tokens behind the prompt."""
    places = range(NUM_PROMPT, NUM_PROMPT + num_steps)
    steps = [executor.step([SequenceChunk(slot, at, ids[at : at + 1])])[0] for at in places]
    return np.concatenate(steps)


def share(executor: Executor) -> None:
    """Slot 1 has the prompt: its first page by sharing, its second by a copy, and the state."""
    executor.copy_page(0, 2)
    executor.map_pages(1, [4, 2])
    executor.write_state(1, executor.read_state(0), NUM_PROMPT)


def test_pages_of_a_pool_are_as_good_as_those_of_a_slot(setup: Setup) -> None:
    got = go_on(setup.executor, 0)
    with closing(setup.kind.open(setup.model_dir, num_pages=None)) as alone:
        prefill(alone, 2)
        np.testing.assert_array_equal(go_on(alone, 2), got)


def test_slots_that_share_pages_go_on_alike_and_apart(setup: Setup) -> None:
    executor = setup.executor
    share(executor)
    apart = go_on(executor, 1, OTHER_IDS)
    first = go_on(executor, 0)
    assert not np.array_equal(apart, first)
    if setup.is_recurrent:
        return  # neither can go back to the prompt's end
    np.testing.assert_array_equal(go_on(executor, 1), first)
    np.testing.assert_array_equal(go_on(executor, 1, OTHER_IDS), apart)
    np.testing.assert_array_equal(go_on(executor, 0), first)


def test_another_executor_goes_on_from_the_bytes(setup: Setup) -> None:
    executor = setup.executor
    pages, state = [executor.read_page(page) for page in (4, 0)], executor.read_state(0)
    assert {page.shape for page in pages} == {(executor.page_bytes,)}
    assert state.shape == (executor.state_bytes,)
    want = go_on(executor, 0)
    with closing(setup.kind.open(setup.model_dir)) as other:
        assert other.cache_format == executor.cache_format
        other.map_pages(2, [1, 5])
        for page, data in zip((1, 5), pages, strict=True):
            other.write_page(page, data)
        other.write_state(2, state, NUM_PROMPT)
        np.testing.assert_array_equal(go_on(other, 2), want)


def test_a_state_comes_back_after_another_sequence(setup: Setup) -> None:
    executor = setup.executor
    state = executor.read_state(0)
    want = go_on(executor, 0)
    executor.map_pages(0, [3])
    executor.step([SequenceChunk(0, 0, OTHER_IDS[:40])])
    executor.map_pages(0, [4, 0])
    executor.write_state(0, state, NUM_PROMPT)
    np.testing.assert_array_equal(go_on(executor, 0), want)


def test_positions_without_a_page_are_refused(setup: Setup) -> None:
    executor = setup.executor
    if setup.is_recurrent:
        return  # its next chunk begins at the prompt's end
    executor.step([SequenceChunk(0, NUM_PROMPT, IDS[: 2 * KV_PAGE_TOKENS - NUM_PROMPT])])
    with pytest.raises(EngineError, match="Slot 0 has no page for position 512"):
        executor.step([SequenceChunk(0, 512, IDS[:1])])
    with pytest.raises(EngineError, match="Slot 1 has no page for position 0"):
        executor.sample([SequenceChunk(1, 0, IDS[:1])], [greedy(executor)])


@pytest.fixture
def reference(models: dict[str, Path]) -> Executor:
    """The one that is made fastest: what follows is the same code for all."""
    return KINDS["reference"].open(models["states"])


def test_pages_that_cannot_be_are_refused(reference: Executor) -> None:
    for slot, pages in ((0, [0, 7]), (0, [-1]), (0, [1, 1]), (0, [0, 1, 2, 3]), (3, [0])):
        with pytest.raises(EngineError):
            reference.map_pages(slot, pages)
    for page in (-1, NUM_PAGES):
        with pytest.raises(EngineError, match=f"no page {page} in a pool of 7"):
            reference.read_page(page)
        with pytest.raises(EngineError):
            reference.copy_page(0, page)
        with pytest.raises(EngineError):
            reference.write_page(page, np.zeros(reference.page_bytes, np.uint8))


def test_bytes_of_another_size_are_refused(reference: Executor) -> None:
    with pytest.raises(EngineError, match="3 bytes were to replace"):
        reference.write_page(0, np.zeros(3, np.uint8))
    with pytest.raises(EngineError, match="4 bytes were to replace"):
        reference.write_state(0, np.zeros(1, np.float32), 5)


def test_a_pool_without_pages_is_refused(models: dict[str, Path]) -> None:
    with pytest.raises(EngineError, match="A pool without pages"):
        KINDS["reference"].open(models["window"], num_pages=0)


def greedy(executor: Executor) -> Sampler:
    return Sampler(SamplingParams(temperature=0.0), [], executor.spec.vocab_size)


class LogitsExecutor(CudaExecutor):
    """Python draws, so that nothing runs ahead."""

    sample = Executor.sample


def draw(executor: Executor, start: int, rows: Sequence[Sequence[int]]) -> list[int]:
    """Greedy tokens from `start` on in slot 0, which has a row of `rows` for each."""
    sampler, drawn = greedy(executor), [int(IDS[start])]
    for position, row in enumerate(rows, start):
        executor.map_pages(0, row)
        chunk = SequenceChunk(0, position, np.array(drawn[-1:], np.int32))
        (token,) = executor.sample([chunk], [sampler])
        assert token is not None
        drawn.append(token)
    return drawn


def draw_with_replaced_page(kind: type[Executor], model_dir: Path) -> list[int]:
    """The page of the next token becomes another one, with another text."""
    with closing(Kind(kind).open(model_dir)) as executor:
        executor.map_pages(0, [4, 0])
        executor.map_pages(1, [5, 2])
        prefill(executor, 0)
        executor.step([SequenceChunk(1, KV_PAGE_TOKENS, OTHER_IDS[:60], LogitsWanted.NONE)])
        return draw(executor, NUM_PROMPT, 3 * [[4, 0]] + 4 * [[4, 2]])


def test_a_step_ahead_is_run_anew_in_a_page_that_was_replaced(
    models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    want = draw_with_replaced_page(LogitsExecutor, models["window"])
    assert draw_with_replaced_page(CudaExecutor, models["window"]) == want
    monkeypatch.setattr(Decoder, "forget_slot", lambda *_: None)
    assert draw_with_replaced_page(CudaExecutor, models["window"]) != want


@pytest.mark.parametrize("has_next_page", [False, True])
def test_a_step_ahead_needs_a_page(models: dict[str, Path], has_next_page: bool) -> None:
    """Up to the last position of a page: without another one, nothing else is written to."""
    last_row = [4, 1, 3] if has_next_page else [4, 1]
    with closing(KINDS["cuda"].open(models["window"])) as executor:
        executor.map_pages(1, [0, 2])
        prefill(executor, 1)
        before = executor.read_page(0)
        drawn = draw(executor, 508, [[4, 1], [4, 1], [4, 1], last_row, [4, 1, 3], [4, 1, 3]])
        np.testing.assert_array_equal(executor.read_page(0), before)
    with closing(Kind(LogitsExecutor).open(models["window"])) as executor:
        assert draw(executor, 508, 6 * [[4, 1, 3]]) == drawn
