"""A reply depends on nothing that runs beside it: batches, joins, leaves, cancels, small pools."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.core.events import FinishReason
from app.engine.executors.base import Executor
from app.engine.executors.cpu import CpuExecutor
from app.engine.executors.reference import ReferenceExecutor
from app.engine.request import Request, SamplingParams, create_request_id
from tests.engine_runs import Run, open_run, write_hybrid_model
from tests.tiny_models import write_chat_model

SYSTEM = "You are a helpful assistant that says little. " * 6  # 276 tokens: a page and a bit
PROMPTS = [
    "Hi",
    "Once upon a time",
    SYSTEM + "Who are you?",
    SYSTEM + "Where are you, and why?",
    "0123456789" * 52,  # two pages and a bit
    "0123456789" * 30 + "abc" * 20,
]
SAMPLINGS = [
    SamplingParams(temperature=0.0),
    SamplingParams(temperature=1.0, seed=7),
    SamplingParams(temperature=0.9, top_p=0.9, repetition_penalty=1.2, seed=8),
]
EXECUTORS: dict[str, tuple[type[Executor], dict[str, Any]]] = {
    "reference": (ReferenceExecutor, {}),
    "cpu": (CpuExecutor, {"num_threads": 1}),
}


@pytest.fixture(scope="module")
def llama_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keys and values only."""
    path = tmp_path_factory.mktemp("batching") / "llama"
    return write_chat_model(path, max_position_embeddings=2048)


@pytest.fixture(scope="module")
def hybrid_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Qwen3.5: linear layers between those with keys and values."""
    return write_hybrid_model(tmp_path_factory.mktemp("hybrid"))


@pytest.fixture(params=["llama", "hybrid"])
def model_dir(request: pytest.FixtureRequest, llama_dir: Path, hybrid_dir: Path) -> Path:
    """Either."""
    return llama_dir if request.param == "llama" else hybrid_dir


def create_request(prompt: int, sampling: int, max_tokens: int) -> Request:
    """One of PROMPTS with one of SAMPLINGS."""
    chosen = replace(SAMPLINGS[sampling], max_tokens=max_tokens, ignore_eos=True)
    return Request(prompt=PROMPTS[prompt], sampling=chosen)


@pytest.mark.parametrize("kind", EXECUTORS)
def test_eight_at_once_say_what_they_say_one_after_the_other(model_dir: Path, kind: str) -> None:
    executor, options = EXECUTORS[kind]
    requests = [create_request(n % len(PROMPTS), n % 3, 20) for n in range(8)]
    alone = []
    for request in requests:
        with open_run(model_dir, kind=executor, **options) as run:
            alone.append(run.answer(request))
    with open_run(model_dir, kind=executor, **options) as run:
        run.add(*requests)
        run.finish()
        assert [run.ids(request) for request in requests] == alone
        again = [replace(request, request_id=create_request_id()) for request in requests]
        run.add(*reversed(again))
        run.finish()
        assert [run.ids(request) for request in again] == alone
        assert all(run.cached(request) > 0 for request in again)


ADD = st.tuples(
    st.just("add"),
    st.integers(0, len(PROMPTS) - 1),
    st.integers(0, len(SAMPLINGS) - 1),
    st.integers(0, 1),
)
STEP = st.tuples(st.just("step"), st.integers(1, 9), st.just(0), st.just(0))
CANCEL = st.tuples(st.just("cancel"), st.integers(0, 9), st.just(0), st.just(0))
MAX_TOKENS = 14


class Session:
    """Whatever is done to a run, each request says what it says alone, as far as it comes."""

    def __init__(self, run: Run, alone: Callable[[int, int], list[int]]) -> None:
        self.run, self.alone = run, alone
        self.asked: list[tuple[Request, int, int]] = []

    def act(self, action: str, number: int, sampling: int, priority: int) -> None:
        if action == "step":
            self.run.step(number)
        elif action == "add":
            request = replace(create_request(number, sampling, MAX_TOKENS), priority=priority)
            self.asked.append((request, number, sampling))
            self.run.add(request)
        elif self.asked:
            self.run.cancel(self.asked[number % len(self.asked)][0])

    def said(self) -> list[list[int]]:
        """Of each request that was made."""
        return [self.run.ids(request) for request, _, _ in self.asked]

    def wanted(self) -> list[list[int]]:
        """What each says alone, as far as it came where it was cancelled."""
        return [self._wanted(*asked) for asked in self.asked]

    def _wanted(self, request: Request, number: int, sampling: int) -> list[int]:
        alone = self.alone(number, sampling)
        is_cancelled = self.run.reason(request) is FinishReason.CANCELLED
        return alone[: len(self.run.ids(request))] if is_cancelled else alone


@pytest.fixture(scope="module")
def alone_of() -> Callable[[Path], Callable[[int, int], list[int]]]:
    """What a request says in an engine of its own; each is asked once."""
    said: dict[tuple[Path, int, int], list[int]] = {}

    def of(model_dir: Path) -> Callable[[int, int], list[int]]:
        def alone(prompt: int, sampling: int) -> list[int]:
            key = (model_dir, prompt, sampling)
            if key not in said:
                with open_run(model_dir) as run:
                    said[key] = run.answer(create_request(prompt, sampling, MAX_TOKENS))
            return said[key]

        return alone

    return of


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(actions=st.lists(st.one_of(ADD, ADD, STEP, CANCEL), min_size=4, max_size=24))
def test_any_coming_and_going_changes_no_reply(
    model_dir: Path,
    alone_of: Callable[[Path], Callable[[int, int], list[int]]],
    actions: list[tuple[str, int, int, int]],
) -> None:
    """Three slots and a pool of four pages for requests of up to three."""
    with open_run(model_dir, num_slots=3, num_pages=4) as run:
        session = Session(run, alone_of(model_dir))
        for action in actions:
            session.act(*action)
        run.finish()
        assert session.said() == session.wanted()
        metrics = run.engine.metrics()
        assert (metrics.num_running, metrics.num_waiting, metrics.pages_used) == (0, 0, 0)
