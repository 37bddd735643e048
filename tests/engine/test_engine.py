"""The engine on a tiny model: what it promises about seeds, limits, stops, cancelling and reuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.core.errors import ContextLengthError, UsageError
from app.core.events import (
    FinishReason,
    PrefillProgressed,
    RequestFinished,
    TokensGenerated,
    Usage,
)
from app.engine.engine import Engine, RequestEvent
from app.engine.executors.base import PREFILL_CHUNK_TOKENS
from app.engine.loader import load_engine
from app.engine.request import Message, Request, SamplingParams
from tests.tiny_models import write_chat_model

MAX_MODEL_LEN = 250
GREEDY = SamplingParams(temperature=0.0, max_tokens=30, ignore_eos=True)
PROMPT = "Once upon a time there was a small model."


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny chat model."""
    return write_chat_model(tmp_path_factory.mktemp("engine") / "tiny")


@pytest.fixture
def create_engine(model_dir: Path) -> Iterator[Callable[..., Engine]]:
    """Makes engines with a fresh cache, and closes them."""
    loaded = []

    def create(num_slots: int = 1) -> Engine:
        loaded.append(load_engine(model_dir, "reference", MAX_MODEL_LEN, num_slots))
        return loaded[-1].engine

    yield create
    for engine in loaded:
        engine.close()


@pytest.fixture
def engine(create_engine: Callable[..., Engine]) -> Engine:
    """An engine with one slot."""
    return create_engine()


def run(engine: Engine, *requests: Request) -> list[RequestEvent]:
    """All events until nothing is left to do."""
    for request in requests:
        engine.add(request)
    events: list[RequestEvent] = []
    while engine.has_work:
        events += engine.step()
    return events


def text_of(events: list[RequestEvent]) -> str:
    return "".join(e.text for e in events if isinstance(e, TokensGenerated))


def ids_of(events: list[RequestEvent]) -> list[int]:
    return [i for e in events if isinstance(e, TokensGenerated) for i in e.token_ids]


def finish_of(events: list[RequestEvent]) -> RequestFinished:
    (finished,) = [e for e in events if isinstance(e, RequestFinished)]
    assert events[-1] is finished
    return finished


def usage_of(events: list[RequestEvent]) -> Usage:
    return finish_of(events).usage


def generate(engine: Engine, prompt: str = PROMPT, sampling: SamplingParams = GREEDY) -> str:
    return text_of(run(engine, Request(prompt=prompt, sampling=sampling)))


# --- what is generated -------------------------------------------------------------------------


def test_greedy_is_the_same_every_time(create_engine: Callable[..., Engine]) -> None:
    engine = create_engine()
    first = generate(engine)
    assert len(first) > 0
    assert generate(engine) == first
    assert generate(create_engine()) == first


def test_a_seed_fixes_the_text_whatever_ran_before(create_engine: Callable[..., Engine]) -> None:
    seeded = replace(GREEDY, temperature=1.0, seed=7)
    first = generate(create_engine(), sampling=seeded)
    engine = create_engine()
    generate(engine, "something else entirely", replace(seeded, seed=None))
    assert generate(engine, sampling=seeded) == first
    assert generate(engine, sampling=replace(seeded, seed=8)) != first


def test_replies_without_a_seed_differ(engine: Engine) -> None:
    free = replace(GREEDY, temperature=1.0)
    assert generate(engine, sampling=free) != generate(engine, sampling=free)


def test_a_penalty_changes_the_reply(engine: Engine) -> None:
    ids = ids_of(run(engine, Request(prompt=PROMPT, sampling=replace(GREEDY, max_tokens=60))))
    assert len(set(ids)) < len(ids)
    harsh = replace(GREEDY, max_tokens=60, presence_penalty=2.0, repetition_penalty=50.0)
    varied = ids_of(run(engine, Request(prompt=PROMPT, sampling=harsh)))
    assert len(set(varied)) > len(set(ids))


def test_messages_go_through_the_chat_template(engine: Engine) -> None:
    turns = (Message("system", "Be brief."), Message("user", "Hi"))
    chat = run(engine, Request(messages=turns, sampling=GREEDY))
    raw = run(engine, Request(prompt="<bos>s:Be brief.|u:Hi|a:", sampling=GREEDY))
    assert text_of(chat) == text_of(raw)
    assert usage_of(chat).prompt_tokens == len("s:Be brief.|u:Hi|a:") + 1


# --- where it ends -----------------------------------------------------------------------------


def test_max_tokens_ends_with_length(engine: Engine) -> None:
    events = run(engine, Request(prompt=PROMPT, sampling=replace(GREEDY, max_tokens=5)))
    assert finish_of(events).finish_reason is FinishReason.LENGTH
    assert len(ids_of(events)) == usage_of(events).completion_tokens == 5


def test_the_end_of_the_context_ends_with_length(engine: Engine) -> None:
    events = run(engine, Request(prompt=PROMPT, sampling=replace(GREEDY, max_tokens=None)))
    assert finish_of(events).finish_reason is FinishReason.LENGTH
    usage = usage_of(events)
    assert usage.prompt_tokens + usage.completion_tokens == MAX_MODEL_LEN


def test_a_stop_token_ends_the_reply_and_shows_nothing(
    tmp_path: Path, create_engine: Callable[..., Engine]
) -> None:
    ids = ids_of(run(create_engine(), Request(prompt=PROMPT, sampling=GREEDY)))
    stop_id = ids[10]
    model_dir = write_chat_model(tmp_path / "other_eos", eos_token_id=[2, stop_id])
    loaded = load_engine(model_dir, "reference", MAX_MODEL_LEN)
    events = run(loaded.engine, Request(prompt=PROMPT, sampling=replace(GREEDY, ignore_eos=False)))
    ignoring = run(loaded.engine, Request(prompt=PROMPT, sampling=GREEDY))
    loaded.close()
    end = ids.index(stop_id)
    assert finish_of(events).finish_reason is FinishReason.STOP
    assert ids_of(events) == ids[: end + 1]
    assert len(text_of(events)) == sum(1 for i in ids[:end] if i > 2)
    assert ids_of(ignoring) == ids


def test_a_stop_string_is_cut_off(engine: Engine) -> None:
    whole = generate(engine)
    stop = whole[8:11]
    events = run(engine, Request(prompt=PROMPT, sampling=replace(GREEDY, stop=("~~~", stop))))
    assert finish_of(events).finish_reason is FinishReason.STOP
    assert text_of(events) == whole[: whole.index(stop)]


def test_what_only_began_like_a_stop_string_is_shown_at_the_end(engine: Engine) -> None:
    whole = generate(engine)
    held = whole[-2:] + "~"
    assert generate(engine, sampling=replace(GREEDY, stop=(held,))) == whole


# --- cancelling --------------------------------------------------------------------------------


def test_cancel_ends_a_reply_and_frees_its_slot(engine: Engine) -> None:
    request = Request(prompt=PROMPT, sampling=GREEDY)
    engine.add(request)
    events: list[RequestEvent] = []
    while len(ids_of(events)) < 4:
        events += engine.step()
    finished = finish_of(engine.cancel(request.request_id))
    assert finished.finish_reason is FinishReason.CANCELLED
    assert finished.usage.completion_tokens == 4
    assert not engine.has_work
    assert engine.cancel(request.request_id) == []
    assert len(generate(engine)) > 0


def test_cancel_ends_a_prompt_between_two_pieces(engine: Engine) -> None:
    request = Request(prompt="x" * (PREFILL_CHUNK_TOKENS + 50), sampling=GREEDY)
    engine.add(request)
    (progress,) = engine.step()
    assert progress == PrefillProgressed(
        request.request_id, PREFILL_CHUNK_TOKENS, PREFILL_CHUNK_TOKENS + 50, 0
    )
    finished = finish_of(engine.cancel(request.request_id))
    assert finished.usage == Usage(PREFILL_CHUNK_TOKENS + 50, 0, 0, 0.0, 0.0)


def test_cancel_shows_what_was_held_back(engine: Engine) -> None:
    whole = generate(engine)
    sampling = replace(GREEDY, stop=(whole[:3] + "~",))
    request = Request(prompt=PROMPT, sampling=sampling)
    engine.add(request)
    events: list[RequestEvent] = []
    while len(ids_of(events)) < 3:
        events += engine.step()
    assert text_of(events) == ""
    assert text_of(engine.cancel(request.request_id)) == whole[:3]


# --- reuse and order ---------------------------------------------------------------------------


def test_a_shared_prefix_is_not_computed_again(create_engine: Callable[..., Engine]) -> None:
    engine = create_engine()
    first = run(engine, Request(prompt=PROMPT, sampling=GREEDY))
    longer = PROMPT + text_of(first) + " And then?"
    events = run(engine, Request(prompt=longer, sampling=GREEDY))
    # The last token of the reply was sampled, but never computed; special tokens leave no text.
    num_reused = next((n for n, i in enumerate(ids_of(first)) if i < 3), GREEDY.max_tokens - 1)
    assert num_reused > 10
    assert usage_of(events).cached_tokens == len(PROMPT) + num_reused
    assert text_of(events) == generate(create_engine(), longer)


def test_an_equal_prompt_computes_its_last_token_again(engine: Engine) -> None:
    first = generate(engine)
    events = run(engine, Request(prompt=PROMPT, sampling=GREEDY))
    assert usage_of(events).cached_tokens == len(PROMPT) - 1
    assert text_of(events) == first


def test_a_forked_conversation_reuses_the_common_start(
    create_engine: Callable[..., Engine],
) -> None:
    engine = create_engine()
    run(engine, Request(prompt=PROMPT + " One", sampling=GREEDY))
    events = run(engine, Request(prompt=PROMPT + " Two", sampling=GREEDY))
    assert usage_of(events).cached_tokens == len(PROMPT) + 1
    assert text_of(events) == generate(create_engine(), PROMPT + " Two")


def test_a_cancelled_prompt_is_reused_as_far_as_it_came(
    create_engine: Callable[..., Engine],
) -> None:
    engine = create_engine()
    prompt = PROMPT * 4
    request = Request(prompt=prompt, sampling=GREEDY)
    engine.add(request)
    engine.step()
    engine.cancel(request.request_id)
    events = run(engine, Request(prompt=prompt, sampling=GREEDY))
    assert usage_of(events).cached_tokens == PREFILL_CHUNK_TOKENS
    assert text_of(events) == generate(create_engine(), prompt)


def test_requests_are_served_in_order(engine: Engine) -> None:
    requests = [Request(prompt=prompt, sampling=GREEDY) for prompt in ("first", "second", "third")]
    events = run(engine, *requests)
    order = list(dict.fromkeys(event.request_id for event in events))
    assert order == [request.request_id for request in requests]
    assert [e.request_id for e in events if isinstance(e, RequestFinished)] == order


def test_two_slots_decode_together_and_change_no_text(
    create_engine: Callable[..., Engine],
) -> None:
    alone = {prompt: generate(create_engine(), prompt) for prompt in ("first", "2nd prompt")}
    requests = [Request(prompt=prompt, sampling=GREEDY) for prompt in alone]
    events = run(create_engine(num_slots=2), *requests)
    for request in requests:
        own = [event for event in events if event.request_id == request.request_id]
        assert text_of(own) == alone[request.prompt or ""]
    second_start = next(i for i, e in enumerate(events) if e.request_id == requests[1].request_id)
    first_end = next(i for i, e in enumerate(events) if isinstance(e, RequestFinished))
    assert second_start < first_end


def test_prefill_progress_counts_up_to_the_prompt(engine: Engine) -> None:
    num_prompt = PREFILL_CHUNK_TOKENS + 72
    events = run(engine, Request(prompt="y" * num_prompt, sampling=GREEDY))
    progress = [e.num_done for e in events if isinstance(e, PrefillProgressed)]
    assert progress == [PREFILL_CHUNK_TOKENS, num_prompt]


def test_usage_counts_and_times(engine: Engine) -> None:
    usage = usage_of(run(engine, Request(prompt=PROMPT, sampling=GREEDY)))
    assert usage.prompt_tokens == len(PROMPT)
    assert usage.cached_tokens == 0
    assert usage.completion_tokens == GREEDY.max_tokens
    assert usage.ttft_s > 0
    assert usage.decode_s > 0
    assert usage.decode_tok_s == pytest.approx(29 / usage.decode_s)


# --- what is refused ---------------------------------------------------------------------------


def test_a_prompt_that_leaves_no_room_is_refused_with_the_numbers(engine: Engine) -> None:
    with pytest.raises(ContextLengthError, match=r"250 tokens.* planned for 250"):
        engine.add(Request(prompt="x" * MAX_MODEL_LEN))
    assert not engine.has_work
    longest = run(engine, Request(prompt="x" * (MAX_MODEL_LEN - 1), sampling=GREEDY))
    assert usage_of(longest).completion_tokens == 1


@pytest.mark.parametrize(
    "request_",
    [
        Request(),
        Request(prompt=""),
        Request(prompt="x", messages=(Message("user", "x"),)),
        Request(prompt="x", sampling=SamplingParams(top_p=2.0)),
    ],
    ids=["nothing", "empty", "both", "top_p"],
)
def test_requests_that_cannot_be_are_refused(engine: Engine, request_: Request) -> None:
    with pytest.raises(UsageError):
        engine.add(request_)
    assert not engine.has_work


def test_a_model_without_a_template_takes_raw_prompts_only(tmp_path: Path) -> None:
    model_dir = write_chat_model(tmp_path / "base")
    (model_dir / "tokenizer_config.json").write_text("{}", encoding="utf-8")
    loaded = load_engine(model_dir, "reference")
    assert not loaded.model.has_chat_template
    with pytest.raises(UsageError, match="chat template"):
        loaded.engine.add(Request(messages=(Message("user", "x"),)))
    loaded.close()


def test_logits_after_a_reused_prefix_are_those_of_a_fresh_prompt(
    create_engine: Callable[..., Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only the text: the rows that the sampler sees agree."""
    from app.engine.sampling import Sampler

    seen: list[np.ndarray] = []
    sample = Sampler.sample
    monkeypatch.setattr(
        Sampler, "sample", lambda self, logits: seen.append(logits) or sample(self, logits)
    )
    engine = create_engine()
    generate(engine, PROMPT + " One")
    seen.clear()
    generate(engine, PROMPT + " Two")
    reused = np.stack(seen)
    seen.clear()
    generate(create_engine(), PROMPT + " Two")
    np.testing.assert_allclose(reused, np.stack(seen), rtol=0, atol=1e-4)
