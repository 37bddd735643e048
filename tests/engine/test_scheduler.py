"""Who runs when: batches, pieces of prompts, priorities, and what gives way when room is short."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.core.errors import ContextLengthError
from app.core.events import FinishReason, TokensGenerated
from app.engine.executors.base import PREFILL_CHUNK_TOKENS
from app.engine.prefill_pacer import PrefillPacer
from app.engine.request import Request, SamplingParams
from tests.engine_runs import Run, open_run
from tests.tiny_models import write_chat_model

Open = Callable[..., Run]


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny chat model with a context of several pages."""
    path = tmp_path_factory.mktemp("scheduler") / "tiny"
    return write_chat_model(path, max_position_embeddings=2048)


@pytest.fixture
def open_engine(model_dir: Path) -> Iterator[Open]:
    """Makes engines, and closes them."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(open_run(model_dir, **options))


def ask(prompt: str, max_tokens: int = 12, **options: object) -> Request:
    """A greedy request."""
    sampling = SamplingParams(temperature=0.0, max_tokens=max_tokens, ignore_eos=True)
    return Request(prompt=prompt, sampling=sampling, **options)  # type: ignore[arg-type]


def text(num_tokens: int, seed: int = 0) -> str:
    """A prompt of so many tokens that has nothing in common with one of another seed."""
    return "".join(chr(97 + (seed + i * (seed + 1)) % 26) for i in range(num_tokens))


class SlowPacer(PrefillPacer):
    """Was told that a token of a prompt takes 5 ms: 100 ms are 20 of them, in eights 16."""

    def record(self, num_prefilled: int, num_decoded: int, step_s: float) -> None:
        super().record(num_prefilled, num_decoded, 0.005 * num_prefilled)


class FastPacer(PrefillPacer):
    """Was told that prompts cost nothing."""

    def record(self, num_prefilled: int, num_decoded: int, step_s: float) -> None:
        super().record(num_prefilled, num_decoded, 0.0)


# --- batches -------------------------------------------------------------------------------------


def test_eight_decode_in_one_step_and_the_ninth_waits(open_engine: Open) -> None:
    run = open_engine()
    requests = [ask(text(9, seed), max_tokens=30) for seed in range(9)]
    run.add(*requests)
    run.step(10)
    heard = {e.request_id for e in run.step() if isinstance(e, TokensGenerated)}
    assert heard == {request.request_id for request in requests[:8]}
    metrics = run.engine.metrics()
    assert (metrics.num_running, metrics.num_waiting, metrics.num_slots) == (8, 1, 8)
    run.cancel(requests[3])
    run.step(2)
    assert run.ids(requests[8])
    run.finish()
    assert all(run.is_finished(request) for request in requests)


def test_within_a_priority_the_first_to_come_is_the_first_to_run(open_engine: Open) -> None:
    run = open_engine(num_slots=1)
    late, urgent = ask(text(5, 1), priority=1), ask(text(5, 2), priority=0)
    waiting = [ask(text(5, seed), priority=1) for seed in (3, 4)]
    run.add(late, *waiting, urgent)
    run.finish()
    first_tokens = [e.request_id for e in run.events if isinstance(e, TokensGenerated)]
    order = list(dict.fromkeys(first_tokens))
    assert order == [r.request_id for r in (urgent, late, *waiting)]


# --- prompts beside replies ----------------------------------------------------------------------


def test_no_reply_waits_for_a_prompt(open_engine: Open) -> None:
    run = open_engine(pacer=SlowPacer())
    reply, prompt = ask(text(9), max_tokens=60), ask(text(300, 1))
    run.add(reply)
    run.step(2)
    run.add(prompt)
    while not run.ids(prompt):
        events = run.step()
        heard = [e for e in events if isinstance(e, TokensGenerated)]
        assert reply.request_id in {e.request_id for e in heard}
    assert set(run.pieces(prompt)[1:-1]) == {16}


def test_a_prompt_alone_runs_in_whole_pieces(open_engine: Open) -> None:
    run = open_engine(pacer=SlowPacer())
    prompt = ask(text(300))
    run.answer(prompt)
    assert run.pieces(prompt) == [PREFILL_CHUNK_TOKENS, PREFILL_CHUNK_TOKENS, 44]


def test_a_short_prompt_does_not_wait_for_a_long_one(open_engine: Open) -> None:
    run = open_engine()
    long, short = ask(text(600, 1)), ask(text(20, 2))
    run.add(long)
    run.step()
    run.add(short)
    run.step(2)
    assert run.ids(short)
    assert not run.ids(long)


def test_a_prompt_is_cut_in_the_same_places_whatever_runs_beside_it(open_engine: Open) -> None:
    """On a fast machine; the rest of a step is for prompts that fit it as a whole."""
    alone, run = open_engine(), open_engine(pacer=FastPacer())
    prompt = ask(text(300, 1), max_tokens=3)
    alone.answer(prompt)
    run.add(*(ask(text(90 + seed, seed), max_tokens=9) for seed in range(3, 7)))
    run.step()
    run.add(prompt)
    run.finish()
    assert run.pieces(prompt) == alone.pieces(prompt) == [128, 128, 44]


def test_short_prompts_run_in_one_step(open_engine: Open) -> None:
    """One pass over the weights for all that fits a piece."""
    run = open_engine()
    requests = [ask(text(20, seed)) for seed in range(1, 7)]
    run.add(*requests)
    run.step()
    assert all(len(run.ids(request)) == 1 for request in requests)


def test_short_prompts_that_keep_coming_do_not_starve_a_long_one(open_engine: Open) -> None:
    run = open_engine(num_slots=3)
    long = ask(text(600, 1))
    run.add(long)
    num_pieces = -(-600 // PREFILL_CHUNK_TOKENS)
    for number in range(2 * num_pieces + 2):  # every other step is the oldest prompt's
        run.add(ask(text(128, 2 + number), max_tokens=1))
        run.step()
    assert run.ids(long)


def test_choices_of_one_prompt_compute_it_once(open_engine: Open) -> None:
    run = open_engine()
    requests = [ask(text(300), max_tokens=3) for _ in range(4)]
    run.add(*requests)
    run.finish()
    assert [run.cached(request) for request in requests] == [0, 299, 299, 299]
    metrics = run.engine.metrics()
    assert (metrics.tokens_prefilled, metrics.tokens_cached) == (303, 897)
    assert metrics.tokens_decoded == 12


def test_a_crowd_with_one_system_prompt_computes_it_once(open_engine: Open) -> None:
    run = open_engine()
    requests = [ask(text(280) + text(20 + seed, seed), max_tokens=3) for seed in range(1, 5)]
    run.add(*requests)
    run.finish()
    assert run.cached(requests[0]) == 0
    assert all(run.cached(request) > 280 - 32 for request in requests[1:])


def test_a_better_priority_does_not_wait_for_what_a_worse_one_computes(open_engine: Open) -> None:
    run = open_engine(pacer=FastPacer())
    run.add(ask(text(600, 1), priority=1), ask(text(590, 2), priority=1))
    run.step()
    chat = ask(text(300, 2), priority=0)
    run.add(chat)
    run.step(4)
    assert run.ids(chat)


# --- who gives way -------------------------------------------------------------------------------


def test_a_better_priority_takes_the_slot_of_the_last_one(open_engine: Open) -> None:
    wanted = open_engine().answer(ask(text(30, 2), max_tokens=40))
    run = open_engine(num_slots=2)
    first, second = (ask(text(30, n), max_tokens=40, priority=1) for n in (1, 2))
    run.add(first, second)
    run.step(12)
    num_before = len(run.ids(second))
    assert num_before
    chat = ask(text(10, 3), priority=0)
    run.add(chat)
    run.step(2)
    assert run.ids(chat)
    assert len(run.ids(second)) == num_before
    run.finish()
    assert run.ids(second) == wanted
    metrics = run.engine.metrics()
    assert metrics.num_preemptions == 1
    # Nothing of it was lost: its pages had not been needed.
    assert metrics.tokens_prefilled <= 30 + 30 + 10 + 2


def test_equal_priorities_do_not_displace_each_other(open_engine: Open) -> None:
    run = open_engine(num_slots=1)
    first, second = ask(text(9, 1)), ask(text(9, 2))
    run.add(first)
    run.step(3)
    run.add(second)
    run.finish()
    assert run.engine.metrics().num_preemptions == 0


def test_when_the_pool_is_empty_the_last_one_is_computed_anew(open_engine: Open) -> None:
    requests = [ask(text(250, seed), max_tokens=280) for seed in (1, 2)]
    wanted = [open_engine().answer(request) for request in requests]
    run = open_engine(num_pages=4, max_model_len=700)
    run.add(*requests)
    run.finish()
    assert [run.ids(request) for request in requests] == wanted
    assert run.engine.metrics().num_preemptions > 0
    ends = [run.events.index(run.finished(request)) for request in requests]
    assert ends[0] < ends[1]
    assert run.engine.metrics().pages_used == 0


def test_a_prompt_that_the_pool_can_never_hold_is_refused(open_engine: Open) -> None:
    run = open_engine(num_pages=2, max_model_len=700)
    with pytest.raises(ContextLengthError, match=r"600 tokens; the context is planned for 512"):
        run.add(ask(text(600)))
    fitting = ask(text(500), max_tokens=100)
    assert len(run.answer(fitting)) == 12
    assert run.reason(fitting) is FinishReason.LENGTH


def test_a_long_prompt_waits_until_there_are_pages_and_is_not_overtaken(open_engine: Open) -> None:
    run = open_engine(num_pages=3, max_model_len=700)
    running, long, short = ask(text(200), 40), ask(text(600, 1)), ask(text(5, 2))
    run.add(running)
    run.step(3)
    run.add(long, short)
    run.step(3)
    assert run.engine.metrics().num_waiting == 2
    run.finish()
    assert run.engine.metrics().num_preemptions == 0
    firsts = [e.request_id for e in run.events if isinstance(e, TokensGenerated)]
    order = list(dict.fromkeys(firsts))
    assert order == [r.request_id for r in (running, long, short)]


# --- cancelling ----------------------------------------------------------------------------------


@pytest.mark.parametrize("num_steps", [0, 1, 2, 5])
def test_cancel_frees_everything_at_once(open_engine: Open, num_steps: int) -> None:
    """Before its first piece, within its prompt, and while it decodes."""
    run = open_engine(num_slots=2)
    others = ask(text(20, 1), max_tokens=30)
    request = ask(text(200, 2), max_tokens=30)
    run.add(others, request)
    run.step(num_steps)
    run.cancel(request)
    assert run.reason(request) is FinishReason.CANCELLED
    assert run.engine.metrics().num_running + run.engine.metrics().num_waiting == 1
    run.finish()
    assert run.ids(others) == open_engine().answer(ask(text(20, 1), max_tokens=30))
    assert run.engine.metrics().pages_used == 0


def test_a_waiting_request_is_cancelled_without_a_step(open_engine: Open) -> None:
    run = open_engine(num_slots=1)
    first, second = ask(text(9, 1)), ask(text(9, 2))
    run.add(first, second)
    run.step()
    run.cancel(second)
    assert run.finished(second).usage.completion_tokens == 0
    assert run.engine.metrics().num_waiting == 0
