"""What a request can ask, of the starter model: schemas, logprobs, whole characters, prompts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from app.core.errors import UsageError
from app.core.events import (
    FinishReason,
    PromptTruncated,
    RequestFailed,
    RequestFinished,
    TokenLogprob,
    TokensGenerated,
)
from app.engine.constraint import Constraint, Grammar, JsonObject, JsonSchema
from app.engine.engine import Engine, RequestEvent
from app.engine.executors.base import LogitsWanted, SequenceChunk
from app.engine.loader import LoadedEngine, load_engine
from app.engine.prompt import PromptEncoder
from app.engine.request import Message, OverflowPolicy, Request, SamplingParams
from tests.json_schemas import Schema, schemas

NUM_SLOTS = 8
GREEDY = SamplingParams(temperature=0.0, max_tokens=24)
ASK = (Message("user", "Describe a lighthouse as JSON."),)
POEM = (Message("user", "用中文写一首诗,加三个表情符号"),)
# Chinese and emoji: most of these characters are spread over several tokens.
CHINESE = Grammar("start: /([\u4e00-\u9fa5，。\n]|[\U0001f600-\U0001f64f]){40}/")


@pytest.fixture(scope="module")
def loaded(starter_checkpoint: Path) -> Iterator[LoadedEngine]:
    """The starter model on the cpu executor, in float32."""
    engine = load_engine(starter_checkpoint, "cpu", 1024, NUM_SLOTS, activations="fp32")
    yield engine
    engine.close()


@pytest.fixture
def engine(loaded: LoadedEngine) -> Engine:
    return loaded.engine


def run(engine: Engine, *requests: Request) -> dict[str, list[RequestEvent]]:
    """The events of each request, by its id, all of them in one batch."""
    events = [event for request in requests for event in engine.add(request)]
    while engine.has_work:
        events += engine.step()
    return {r.request_id: [e for e in events if e.request_id == r.request_id] for r in requests}


def generated(events: list[RequestEvent]) -> list[TokensGenerated]:
    return [event for event in events if isinstance(event, TokensGenerated)]


def text_of(events: list[RequestEvent]) -> str:
    return "".join(event.text for event in generated(events))


def ids_of(events: list[RequestEvent]) -> list[int]:
    return [token_id for event in generated(events) for token_id in event.token_ids]


def finish_of(events: list[RequestEvent]) -> FinishReason:
    (finished,) = [event for event in events if isinstance(event, RequestFinished)]
    return finished.finish_reason


def reply_to(engine: Engine, request: Request) -> list[RequestEvent]:
    return run(engine, request)[request.request_id]


# --- replies held to a grammar -----------------------------------------------------------------


@settings(max_examples=2, deadline=None, phases=[Phase.generate], derandomize=True)
@given(found=st.lists(schemas(), min_size=NUM_SLOTS // 2, max_size=NUM_SLOTS // 2))
def test_replies_are_valid_under_random_schemas(loaded: LoadedEngine, found: list[Schema]) -> None:
    """Half of a batch greedily, half of it drawn; a reply that is cut says `length`."""
    requests = [
        Request(
            messages=ASK,
            constraint=JsonSchema(schema),
            sampling=SamplingParams(temperature=temperature, max_tokens=160, seed=1),
        )
        for schema in found
        for temperature in (0.0, 1.0)
    ]
    replies = run(loaded.engine, *requests)
    num_whole = 0
    for request in requests:
        events = replies[request.request_id]
        if finish_of(events) is FinishReason.LENGTH:
            assert len(ids_of(events)) == 160
            continue
        num_whole += 1
        assert isinstance(request.constraint, JsonSchema)
        schema = request.constraint.schema
        jsonschema.validate(
            json.loads(text_of(events)), schema, format_checker=jsonschema.FormatChecker()
        )
    assert num_whole >= NUM_SLOTS // 2


def test_a_reply_that_is_complete_ends_without_an_end_token(engine: Engine) -> None:
    request = Request(messages=ASK, constraint=JsonSchema({"const": {"a": 1}}), sampling=GREEDY)
    events = reply_to(engine, request)
    assert finish_of(events) is FinishReason.STOP
    assert json.loads(text_of(events)) == {"a": 1}
    assert ids_of(events)[-1] not in (0, 2)


def test_what_max_tokens_cuts_says_length(engine: Engine) -> None:
    sampling = replace(GREEDY, max_tokens=3)
    events = reply_to(engine, Request(messages=ASK, constraint=JsonObject(), sampling=sampling))
    assert finish_of(events) is FinishReason.LENGTH
    assert text_of(events).startswith("{")


def test_a_held_reply_leaves_its_neighbours_as_they_are(engine: Engine) -> None:
    free = Request(messages=ASK, sampling=GREEDY)
    alone = ids_of(reply_to(engine, free))
    held = Request(messages=ASK, constraint=JsonObject(), sampling=GREEDY)
    drawn = Request(messages=ASK, sampling=SamplingParams(seed=5, max_tokens=24))
    drawn_alone = ids_of(reply_to(engine, drawn))
    again = [
        replace(request, request_id=f"again {i}") for i, request in enumerate((free, held, drawn))
    ]
    together = run(engine, *again)
    assert ids_of(together["again 0"]) == alone
    assert ids_of(together["again 2"]) == drawn_alone
    assert text_of(together["again 1"]).startswith("{")


@pytest.mark.parametrize(
    ("constraint", "changes", "sentence"),
    [
        (JsonSchema({"type": "x"}), {}, "JSON schema cannot be enforced"),
        (JsonObject(), {"ignore_eos": True}, "ignore_eos cannot be"),
    ],
)
def test_what_cannot_be_enforced_is_refused_at_once(
    engine: Engine, constraint: Constraint, changes: dict[str, Any], sentence: str
) -> None:
    sampling = replace(GREEDY, **changes)
    with pytest.raises(UsageError, match=sentence):
        engine.add(Request(messages=ASK, constraint=constraint, sampling=sampling))
    assert not engine.has_work


def test_a_grammar_that_becomes_too_much_fails_its_own_request_alone(loaded: LoadedEngine) -> None:
    """Each space may belong to any of four rules: after some hundred, the parser gives up."""
    many = 'start: "x" many\nmany: one many | one | one one many | one one one many\none: " "'
    pieces = {loaded.tokenizer.token_bytes(token_id): token_id for token_id in range(49152)}
    widest = max(len(piece) for piece in pieces if not piece.strip(b" "))
    bias = ((pieces[b" " * widest], 100.0),)
    wide = replace(GREEDY, max_tokens=60, logit_bias=bias)
    bad = Request(messages=ASK, constraint=Grammar(many), sampling=wide)
    good = Request(messages=ASK, sampling=GREEDY)
    replies = run(loaded.engine, bad, good)
    failed = replies[bad.request_id][-1]
    assert isinstance(failed, RequestFailed)
    assert failed.error.message.startswith("The reply could not be held to its grammar: parser")
    assert failed.error.message.endswith(".")
    assert "\n" not in failed.error.message
    assert finish_of(replies[good.request_id]) is FinishReason.LENGTH
    assert not loaded.engine.has_work


# --- logprobs ----------------------------------------------------------------------------------


def logprobs_of(events: list[RequestEvent]) -> list[TokenLogprob]:
    return [entry for event in generated(events) for entry in event.logprobs]


def test_logprobs_are_log_softmax_of_the_reference_executors_logits(
    starter_checkpoint: Path,
) -> None:
    import torch

    loaded = load_engine(starter_checkpoint, "reference", 128)
    sampling = SamplingParams(temperature=1.5, seed=2, max_tokens=6, repetition_penalty=1.3)
    request = Request(prompt="The sea was", sampling=sampling, num_logprobs=20)
    found = logprobs_of(reply_to(loaded.engine, request))
    ids = loaded.tokenizer.encode("The sea was") + [entry.token_id for entry in found]
    chunk = SequenceChunk(0, 0, np.array(ids[:-1], np.int32), LogitsWanted.ALL)
    loaded.executor.map_pages(0, [0])
    (logits,) = loaded.executor.step([chunk])
    expected = torch.from_numpy(logits[-len(found) :]).log_softmax(-1)
    for entry, row in zip(found, expected, strict=True):
        values, likeliest = row.topk(20)
        assert entry.logprob == pytest.approx(float(row[entry.token_id]), abs=1e-4)
        assert [top.logprob for top in entry.top] == pytest.approx(values.tolist(), abs=1e-4)
        assert {top.token_id for top in entry.top[:5]} == set(likeliest[:5].tolist())
    loaded.close()


def test_logprobs_change_no_reply_and_carry_each_tokens_bytes(engine: Engine) -> None:
    request = Request(messages=POEM, sampling=replace(GREEDY, seed=3, temperature=0.9))
    plain = reply_to(engine, request)
    told = reply_to(engine, replace(request, request_id="told", num_logprobs=2))
    assert ids_of(told) == ids_of(plain)
    assert logprobs_of(plain) == []
    entries = logprobs_of(told)
    assert [entry.token_id for entry in entries] == ids_of(told)
    assert all(len(entry.top) == 2 for entry in entries)
    whole = b"".join(entry.token for entry in entries if entry.token_id not in (0, 2))
    assert whole.decode("utf-8", "ignore").startswith(text_of(told))


def test_logprobs_of_split_characters_are_their_bytes(engine: Engine) -> None:
    request = Request(messages=POEM, constraint=CHINESE, sampling=replace(GREEDY, max_tokens=200))
    events = reply_to(engine, replace(request, num_logprobs=0))
    entries = logprobs_of(events)
    assert b"".join(entry.token for entry in entries).decode() == text_of(events)
    assert any(_is_part(entry.token) for entry in entries)
    assert all(entry.top == () for entry in entries)


def _is_part(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return True
    return False


# --- characters --------------------------------------------------------------------------------


@pytest.mark.parametrize("constraint", [None, CHINESE], ids=["free", "chinese"])
def test_a_chinese_poem_with_emoji_comes_in_whole_characters(
    loaded: LoadedEngine, constraint: Constraint | None
) -> None:
    request = Request(
        messages=POEM, constraint=constraint, sampling=replace(GREEDY, max_tokens=200)
    )
    events = reply_to(loaded.engine, request)
    pieces = [event.text for event in generated(events)]
    assert not any("\ufffd" in piece for piece in pieces)
    ids = [token_id for token_id in ids_of(events) if token_id not in (0, 2)]
    assert "".join(pieces) == loaded.tokenizer.decode(ids)
    if constraint is not None:
        assert len("".join(pieces)) == 40
        assert "" in pieces  # a token that ended no character


# --- prompts -----------------------------------------------------------------------------------


def test_a_prompt_of_ids_is_taken_as_it_is(loaded: LoadedEngine) -> None:
    ids = tuple(loaded.tokenizer.encode("The sea was"))
    told = reply_to(loaded.engine, Request(prompt="The sea was", sampling=GREEDY))
    assert ids_of(reply_to(loaded.engine, Request(prompt=ids, sampling=GREEDY))) == ids_of(told)
    for wrong in ((-1,), (49152,), ()):
        with pytest.raises(UsageError, match="prompt"):
            loaded.engine.add(Request(prompt=wrong, sampling=GREEDY))


def test_stop_tokens_and_least_length_are_kept(loaded: LoadedEngine) -> None:
    request = Request(prompt="The sea was", sampling=GREEDY)
    ids = ids_of(reply_to(loaded.engine, request))
    stopping = replace(GREEDY, stop_token_ids=(ids[4],))
    events = reply_to(loaded.engine, Request(prompt="The sea was", sampling=stopping))
    assert ids_of(events) == ids[: ids.index(ids[4]) + 1]
    assert finish_of(events) is FinishReason.STOP
    longer = replace(stopping, min_tokens=12)
    assert len(ids_of(reply_to(loaded.engine, Request(prompt="The sea was", sampling=longer)))) > 12


def test_the_oldest_turns_leave_a_conversation_that_is_too_long(loaded: LoadedEngine) -> None:
    system = Message("system", "Answer in one word.")
    turns = [
        message
        for number in range(30)
        for message in (
            Message("user", f"Question {number}: " + "why and how, " * 15),
            Message("assistant", f"Answer {number}."),
        )
    ]
    last = Message("user", "What is the capital of France?")
    sampling = replace(GREEDY, max_tokens=100)
    request = Request(
        messages=(system, *turns, last), sampling=sampling, overflow=OverflowPolicy.DROP_OLDEST
    )
    events = reply_to(loaded.engine, request)
    (truncated,) = [event for event in events if isinstance(event, PromptTruncated)]
    num_dropped = truncated.num_dropped_messages
    assert num_dropped % 2 == 0
    assert 0 < num_dropped < len(turns)
    kept = (system, *turns[num_dropped:], last)
    short = Request(messages=kept, sampling=sampling, overflow=OverflowPolicy.DROP_OLDEST)
    again = reply_to(loaded.engine, short)
    assert ids_of(again) == ids_of(events)
    assert not any(isinstance(event, PromptTruncated) for event in again)
    # By the four: with four turns more there would be no room for the reply.
    assert num_dropped % 8 == 0
    template = loaded.tokenizer.chat_template
    assert template
    more = template.render((system, *turns[num_dropped - 8 :], last))
    assert len(loaded.tokenizer.encode_chat(more)) + 100 > 1024


def test_turns_that_follow_a_shortened_one_begin_like_it(loaded: LoadedEngine) -> None:
    """Of four turns in an overlong conversation three find their beginning in the cache."""
    encoder = PromptEncoder(loaded.tokenizer, 1024, loaded.executor.spec.vocab_size)
    turns: list[Message] = [Message("system", "Answer in one word.")]
    dropped, prompts = [], []
    for number in range(32):
        turns.append(Message("user", f"Question {number}: " + "why and how, " * 15))
        request = Request(messages=tuple(turns), overflow=OverflowPolicy.DROP_OLDEST)
        prompt = encoder.encode(request)
        dropped.append(prompt.num_dropped_messages)
        prompts.append(prompt.token_ids)
        turns.append(Message("assistant", f"Answer {number}."))
    changes = [n for n in range(1, 32) if dropped[n] != dropped[n - 1]]
    assert len(changes) >= 3
    assert all(later - earlier == 4 for earlier, later in pairwise(changes))
    for n in set(range(1, 32)) - set(changes):
        assert prompts[n][: len(prompts[n - 1])] == prompts[n - 1]
