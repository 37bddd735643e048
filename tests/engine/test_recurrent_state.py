"""Linear layers: a state that goes on or begins anew, in executors and through the engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.converter.pipeline import convert
from app.core.errors import EngineError, ResourceError
from app.core.events import RequestFinished, TokensGenerated
from app.engine.engine import Engine
from app.engine.executors.base import Executor, LogitsWanted, SequenceChunk
from app.engine.executors.cpu import CpuExecutor
from app.engine.executors.reference import ReferenceExecutor
from app.engine.loader import load_engine
from app.engine.memory_plan import (
    ExecutorCosts,
    fit_table,
    kv_bytes_per_token,
    plan_memory,
    workspace_bytes,
)
from app.engine.request import Request, SamplingParams
from app.engine.sampling import Sampler
from app.engine.state_snapshots import MAX_SNAPSHOTS
from app.spec.layer_type import LayerType
from app.spec.registry import create_spec
from tests.engine_runs import open_run
from tests.families.hybrid_cases import CASES, LINEAR_ALONE
from tests.family_models import (
    TOKENS,
    cpu_logits,
    create_executor,
    expected_logits,
    reference_logits,
    write_folder,
)
from tests.spec.popular_hybrid import QWEN3_NEXT

CASE = next(case for case in CASES if case.name == "qwen3.5")
GREEDY = SamplingParams(temperature=0.0, max_tokens=12, ignore_eos=True)
EXECUTORS: dict[str, tuple[type[Executor], dict[str, Any]]] = {
    "reference": (ReferenceExecutor, {}),
    "cpu": (CpuExecutor, {"num_threads": 2, "kv_dtype": "fp32"}),
}


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Qwen3.5."""
    root = tmp_path_factory.mktemp("recurrent")
    folder = write_folder(CASE, root / "folder")
    convert(folder, root / "model", grid="dense")
    return root / "model"


@pytest.fixture(params=EXECUTORS)
def executor(request: pytest.FixtureRequest, model_dir: Path) -> Iterator[Executor]:
    """Two slots of each executor that has linear layers."""
    kind, options = EXECUTORS[request.param]
    executor = create_executor(kind, model_dir, num_slots=2, **options)
    yield executor
    executor.close()


def step(executor: Executor, start: int, stop: int, slot: int = 0) -> np.ndarray:
    """All logits of TOKENS[start:stop]."""
    chunk = SequenceChunk(slot, start, TOKENS[start:stop], LogitsWanted.ALL)
    return executor.step([chunk])[0]


# --- the executor --------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [19, 21, 5])
def test_a_state_goes_on_where_it_is_or_not_at_all(executor: Executor, start: int) -> None:
    step(executor, 0, 20)
    with pytest.raises(EngineError, match=f"cannot go to position {start}: it has seen 20 tokens"):
        step(executor, start, start + 2)
    # Nothing was run, so nothing is lost.
    went_on = step(executor, 20, 30)
    np.testing.assert_allclose(went_on, step(executor, 0, 30)[20:], rtol=0, atol=1e-4)


def test_a_sequence_begins_anew_at_0(executor: Executor) -> None:
    first = step(executor, 0, 20)
    step(executor, 20, 33)
    np.testing.assert_array_equal(step(executor, 0, 20), first)


def test_slots_have_states_of_their_own(executor: Executor) -> None:
    alone = step(executor, 0, 30)
    step(executor, 0, 20)
    step(executor, 0, 7, slot=1)
    chunks = [
        SequenceChunk(1, 7, TOKENS[7:12], LogitsWanted.ALL),
        SequenceChunk(0, 20, TOKENS[20:30], LogitsWanted.ALL),
    ]
    second, first = executor.step(chunks)
    np.testing.assert_allclose(first, alone[20:], rtol=0, atol=1e-4)
    np.testing.assert_allclose(second, alone[7:12], rtol=0, atol=1e-4)


def test_two_chunks_of_a_slot_may_follow_each_other(executor: Executor) -> None:
    alone = step(executor, 0, 30)
    chunks = [
        SequenceChunk(0, 0, TOKENS[:20], LogitsWanted.NONE),
        SequenceChunk(0, 20, TOKENS[20:30], LogitsWanted.ALL),
    ]
    np.testing.assert_allclose(executor.step(chunks)[1], alone[20:], rtol=0, atol=1e-4)


def test_after_a_step_that_failed_only_a_new_beginning_is_left(
    model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = create_executor(ReferenceExecutor, model_dir)
    first = step(executor, 0, 20)

    def fail(chunk: SequenceChunk) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(executor, "_run", fail)
        with pytest.raises(MemoryError):
            step(executor, 20, 30)
    with pytest.raises(EngineError, match="seen an unknown number of tokens"):
        step(executor, 20, 30)
    np.testing.assert_array_equal(step(executor, 0, 20), first)


def test_linear_layers_need_no_others(tmp_path: Path) -> None:
    folder = write_folder(LINEAR_ALONE, tmp_path / "folder")
    convert(folder, tmp_path / "out", grid="dense")
    want = expected_logits(LINEAR_ALONE)
    for size in (60, 13, 1):
        np.testing.assert_allclose(reference_logits(tmp_path / "out", size), want, atol=1e-4)
        np.testing.assert_allclose(cpu_logits(tmp_path / "out", size), want, atol=1e-4)


def test_threads_and_batches_change_no_token(model_dir: Path) -> None:
    """Three sequences at once, drawn natively, on one thread and on three."""
    prompts = [TOKENS[:20], TOKENS[20:33], TOKENS[33:50]]
    params = [SamplingParams(temperature=t, seed=7) for t in (0.0, 0.8, 1.3)]
    replies = []
    for num_threads in (1, 3):
        options: dict[str, Any] = {"num_slots": 3, "num_threads": num_threads}
        executor = create_executor(CpuExecutor, model_dir, **options)
        samplers = [
            Sampler(chosen, prompt.tolist(), executor.spec.vocab_size)
            for chosen, prompt in zip(params, prompts, strict=True)
        ]
        chunks = [SequenceChunk(slot, 0, prompt) for slot, prompt in enumerate(prompts)]
        found: list[list[int | None]] = []
        for position in range(8):
            found.append(executor.sample(chunks, samplers))
            chunks = [
                SequenceChunk(slot, len(prompts[slot]) + position, np.array([token], np.int32))
                for slot, token in enumerate(found[-1])
            ]
        replies.append(found)
        executor.close()
    assert replies[0] == replies[1]


# --- the engine ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reply:
    """What the engine said, and how much of the prompt it had."""

    text: str
    cached: int


def generate(engine: Engine, prompt: str) -> Reply:
    engine.add(Request(prompt=prompt, sampling=GREEDY))
    text, cached = "", 0
    while engine.has_work:
        for event in engine.step():
            if isinstance(event, TokensGenerated):
                text += event.text
            if isinstance(event, RequestFinished):
                cached = event.usage.cached_tokens
    return Reply(text, cached)


@pytest.fixture(params=EXECUTORS)
def engines(request: pytest.FixtureRequest, model_dir: Path) -> Iterator[tuple[Engine, Engine]]:
    """One that a conversation runs in, and one that is asked as if nothing had been before."""
    options = {"activations": "fp32", "kv_dtype": "fp32"}
    loaded = [load_engine(model_dir, request.param, 200, **options) for _ in range(2)]
    yield loaded[0].engine, loaded[1].engine
    for engine in loaded:
        engine.close()


def test_a_conversation_goes_on_is_regenerated_and_edited(engines: tuple[Engine, Engine]) -> None:
    engine, fresh = engines
    first = generate(engine, "u:Hello there|a:")
    went_on = generate(engine, f"u:Hello there|a:{first.text}|u:And then?|a:")
    assert went_on.cached == len(f"u:Hello there|a:{first.text}") - 1
    regenerated = generate(engine, "u:Hello there|a:")
    # The state before the last eight tokens of the prompt is kept.
    assert regenerated == Reply(first.text, len("u:Hello there|a:") - 8)
    edited = generate(engine, "u:Hello world|a:")
    assert edited.cached == len("u:Hello ")
    assert generate(engine, "u:Bye world|a:").cached == 0
    generate(fresh, "something else, so that nothing is shared")
    assert generate(fresh, f"u:Hello there|a:{first.text}|u:And then?|a:").text == went_on.text
    assert generate(fresh, "u:Hello world|a:").text == edited.text


def test_a_cancelled_prompt_leaves_what_can_go_on(engines: tuple[Engine, Engine]) -> None:
    engine, fresh = engines
    prompt = "a long prompt " * 11  # more than one piece
    request = Request(prompt=prompt, sampling=GREEDY)
    engine.add(request)
    engine.step()
    engine.cancel(request.request_id)
    again = generate(engine, prompt)
    assert again.cached == 128
    assert again.text == generate(fresh, prompt).text


def test_choices_of_one_prompt_share_its_state(model_dir: Path) -> None:
    with open_run(model_dir) as run:
        requests = [Request(prompt="a long prompt " * 11, sampling=GREEDY) for _ in range(3)]
        run.add(*requests)
        run.finish()
        assert [run.cached(request) for request in requests] == [0, 146, 146]
        assert len({tuple(run.ids(request)) for request in requests}) == 1


def test_a_prompt_whose_end_the_next_turn_drops_is_still_shared(model_dir: Path) -> None:
    """As where a template opens a thought, and leaves it out of what was said before."""
    with open_run(model_dir) as run:
        run.answer(Request(prompt="a long prompt " * 11 + "<think>", sampling=GREEDY))
        later = Request(prompt="a long prompt " * 11 + "An answer. And then?", sampling=GREEDY)
        said = run.answer(later)
        assert run.cached(later) == 153
    with open_run(model_dir) as run:
        assert run.answer(later) == said


def test_a_preempted_reply_goes_on_from_its_state(model_dir: Path) -> None:
    with open_run(model_dir, num_slots=1) as run:
        reply = Request(prompt="a long prompt " * 11, sampling=GREEDY, priority=1)
        wanted = run.answer(reply)
    with open_run(model_dir, num_slots=1) as run:
        run.add(reply)
        run.step(6)
        run.add(Request(prompt="Hi", sampling=GREEDY, priority=0))
        run.finish()
        assert run.ids(reply) == wanted
        metrics = run.engine.metrics()
        assert metrics.num_preemptions == 1
        assert metrics.tokens_prefilled == 154 + 2


def test_a_state_goes_with_the_tokens_that_it_has_seen(model_dir: Path) -> None:
    """A pool of one page: each prompt cuts what the one before has left behind their beginning."""
    first = Request(prompt="a" * 40, sampling=GREEDY)  # states behind 32 tokens, and 51
    second = Request(prompt="a" * 39 + "b" * 30, sampling=GREEDY)
    third = Request(prompt="a" * 39 + "b" * 20 + "c", sampling=GREEDY)
    with open_run(model_dir, max_model_len=200) as run:
        wanted = run.answer(third)
    with open_run(model_dir, num_slots=1, num_pages=1, max_model_len=200) as run:
        run.answer(first)
        run.answer(second)
        assert run.answer(third) == wanted
        assert [run.cached(request) for request in (second, third)] == [32, 32]


def test_states_are_kept_within_a_limit_and_counted(model_dir: Path) -> None:
    with open_run(model_dir) as run:
        for n in range(MAX_SNAPSHOTS):
            run.answer(Request(prompt=chr(40 + n) * 5, sampling=GREEDY))
        kept = run.engine.snapshot_bytes
        assert kept == MAX_SNAPSHOTS * run.executor.state_bytes
        run.answer(Request(prompt="something else", sampling=GREEDY))
        assert run.engine.snapshot_bytes == kept


# --- memory --------------------------------------------------------------------------------------


def test_states_are_planned_beside_keys_and_values_of_layers_of_attention() -> None:
    spec = create_spec(QWEN3_NEXT)
    per_token = kv_bytes_per_token(spec, "fp16")
    assert per_token == 12 * 2 * 2 * 256 * 2  # of 48 layers, two kv heads, keys and values
    states = 36 * 4 * (32 * 128 * 128 + 3 * 8192)
    available = (8 << 30) + workspace_bytes(spec) + 2 * (states + 1000 * per_token)
    costs = ExecutorCosts(8 << 30, "fp16")
    plan = plan_memory(spec, costs, available, num_slots=2)
    assert (plan.max_model_len, plan.state_bytes) == (1000, 2 * states)
    with pytest.raises(ResourceError):
        plan_memory(spec, costs, available - 1, wanted_len=1000, num_slots=2)
    weights_bytes = fit_table(spec, 0, device="cpu")[0].weights_bytes
    beside = weights_bytes + workspace_bytes(spec) + states
    assert fit_table(spec, beside + 1000 * per_token, device="cpu")[0].max_context == 1000
    assert fit_table(spec, beside + 1000 * per_token - 1, device="cpu")[0].max_context == 999


def test_a_model_without_attention_has_room_for_any_context() -> None:
    spec = create_spec(QWEN3_NEXT)
    spec = replace(spec, layer_types=(LayerType.LINEAR,) * spec.num_hidden_layers)
    needed = workspace_bytes(spec) + spec.state_bytes
    plan = plan_memory(spec, ExecutorCosts(0, "fp16"), needed)
    assert (plan.max_model_len, plan.kv_bytes_per_token) == (262_144, 0)
    with pytest.raises(ResourceError):
        plan_memory(spec, ExecutorCosts(0, "fp16"), needed - 1)


def test_executors_hold_the_states_that_are_planned(executor: Executor) -> None:
    spec = executor.spec
    step(executor, 0, 3)
    kv_bytes = executor.memory_use().kv_bytes
    # One slot has begun: a page.
    assert kv_bytes == 256 * kv_bytes_per_token(spec, "fp32") + 2 * spec.state_bytes
