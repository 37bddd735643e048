"""Guessing changes no reply: whatever is drawn, and wherever it ends, only steps are fewer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.core.events import FinishReason, TokensGenerated
from app.engine.executors.cpu import CpuExecutor
from app.engine.request import Request, SamplingParams
from tests.engine_runs import Run, open_run, write_hybrid_model
from tests.tiny_models import write_chat_model

GREEDY = SamplingParams(temperature=0.0, max_tokens=60, ignore_eos=True)
PROMPT = "abcabcabcabc" * 6
SAMPLINGS = [
    GREEDY,
    replace(GREEDY, temperature=0.8, seed=3),
    replace(GREEDY, temperature=0.7, top_p=0.9, repetition_penalty=1.1, seed=4),
    replace(GREEDY, presence_penalty=0.5, frequency_penalty=0.5),
]


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random weights: greedily they soon say the same again and again."""
    path = tmp_path_factory.mktemp("drafts") / "model"
    return write_chat_model(path, max_position_embeddings=2048)


@contextmanager
def open_cpu(model_dir: Path, is_guessing: bool, activations: str = "int8") -> Iterator[Run]:
    kind = CpuExecutor if is_guessing else _NeverGuessing
    with open_run(model_dir, kind=kind, num_threads=1, activations=activations) as run:
        yield run


class _NeverGuessing(CpuExecutor):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.max_draft_tokens = 0


def ask(run: Run, sampling: SamplingParams) -> tuple[list[int], str, FinishReason]:
    request = Request(prompt=PROMPT, sampling=sampling)
    ids = run.answer(request)
    text = "".join(event.text for event in run.of(request, TokensGenerated))
    return ids, text, run.reason(request)


@pytest.mark.parametrize("activations", ["int8", "fp32"])
def test_every_kind_of_draw_gives_the_same_tokens_in_fewer_steps(
    model_dir: Path, activations: str
) -> None:
    with open_cpu(model_dir, is_guessing=False, activations=activations) as plain:
        expected = [ask(plain, sampling) for sampling in SAMPLINGS]
        assert plain.engine.metrics().tokens_guessed == 0
    with open_cpu(model_dir, is_guessing=True, activations=activations) as guessing:
        assert [ask(guessing, sampling) for sampling in SAMPLINGS] == expected
        metrics = guessing.engine.metrics()
        assert 0 < metrics.tokens_held < metrics.tokens_guessed
        assert metrics.tokens_decoded == 60 * len(SAMPLINGS)


@pytest.mark.parametrize("max_tokens", [1, 2, 3, 5, 6, 7, 9])
def test_a_reply_ends_at_its_last_token(model_dir: Path, max_tokens: int) -> None:
    with open_cpu(model_dir, is_guessing=True) as run:
        expected = ask(run, GREEDY)[0][:max_tokens]
        ids, _, reason = ask(run, replace(GREEDY, max_tokens=max_tokens))
        assert (ids, reason) == (expected, FinishReason.LENGTH)


def test_a_stop_token_and_a_stop_string_end_it_between_guesses(model_dir: Path) -> None:
    with open_cpu(model_dir, is_guessing=False) as plain:
        ids, text, _ = ask(plain, GREEDY)
        endings = [
            replace(GREEDY, stop_token_ids=(ids[40],)),
            replace(GREEDY, stop=(text[20:23],)),
        ]
        expected = [ask(plain, sampling) for sampling in endings]
    with open_cpu(model_dir, is_guessing=True) as guessing:
        assert [ask(guessing, sampling) for sampling in endings] == expected
        assert all(reason is FinishReason.STOP for _, _, reason in expected)


def test_the_next_turn_finds_in_the_cache_what_guesses_left_there(model_dir: Path) -> None:
    """Rows of guesses that failed are never taken for text."""
    with open_cpu(model_dir, is_guessing=True) as run:
        first = Request(prompt=PROMPT, sampling=GREEDY)
        run.answer(first)
        text = "".join(event.text for event in run.of(first, TokensGenerated))
        following = Request(prompt=PROMPT + text + "and", sampling=GREEDY)
        again = run.answer(following)
        assert run.cached(following) > len(PROMPT)
    with open_cpu(model_dir, is_guessing=False) as fresh:
        assert fresh.answer(Request(prompt=PROMPT + text + "and", sampling=GREEDY)) == again


def test_one_that_joins_ends_the_guessing_and_hears_what_it_hears_alone(model_dir: Path) -> None:
    sampling = replace(GREEDY, temperature=0.9, seed=1)
    requests = [Request(prompt=p, sampling=sampling) for p in (PROMPT, "xyz" * 9)]
    with open_cpu(model_dir, is_guessing=False) as plain:
        expected = [plain.answer(request) for request in requests]
    with open_cpu(model_dir, is_guessing=True) as run:
        first, second = (replace(request, request_id=f"{i}") for i, request in enumerate(requests))
        run.add(first)
        run.step(8)
        run.add(second)
        run.finish()
        assert [run.ids(first), run.ids(second)] == expected


def test_rules_that_see_each_token_are_not_guessed_for(model_dir: Path) -> None:
    with open_cpu(model_dir, is_guessing=True) as run:
        run.answer(Request(prompt=PROMPT, sampling=GREEDY, num_logprobs=2))
        assert run.engine.metrics().tokens_guessed == 0


def test_states_that_cannot_go_back_are_not_guessed_for(tmp_path: Path) -> None:
    with open_cpu(write_hybrid_model(tmp_path), is_guessing=True) as run:
        run.answer(Request(prompt=PROMPT, sampling=GREEDY))
        assert run.engine.metrics().tokens_guessed == 0
