"""A conversation in the engine's words; how fast tokens come."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime
from itertools import count

import pytest

from app.chat.transcript import Conversation, Turn, TurnRole
from app.controllers.chat_request import create_request, to_sampling_params
from app.controllers.token_rate import TokenRate
from app.core.sampling_settings import SamplingSettings
from app.engine.request import Message, SamplingParams

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def create_conversation(*turns: tuple[TurnRole, str], system_prompt: str = "") -> Conversation:
    numbered = zip(count(), turns, strict=False)
    made = tuple(Turn(number, role, content, NOW) for number, (role, content) in numbered)
    return Conversation("id", "title", NOW, NOW, system_prompt, turns=made)


def test_system_prompt_comes_first() -> None:
    request = create_request(create_conversation(("user", "Hi"), system_prompt="Be brief."))
    assert request.messages == (Message("system", "Be brief."), Message("user", "Hi"))


def test_turns_alternate_when_a_reply_is_missing_or_empty() -> None:
    turns: list[tuple[TurnRole, str]] = [
        ("user", "one"),
        ("user", "two"),
        ("assistant", ""),
        ("user", "three"),
        ("assistant", "reply"),
        ("user", "four"),
    ]
    assert create_request(create_conversation(*turns)).messages == (
        Message("user", "one\n\ntwo\n\nthree"),
        Message("assistant", "reply"),
        Message("user", "four"),
    )


def test_every_sampling_setting_reaches_the_engine() -> None:
    kept = {declared.name for declared in fields(SamplingSettings)}
    known = {declared.name for declared in fields(SamplingParams)}
    assert known - kept == {"ignore_eos", "stop_token_ids", "logit_bias", "min_tokens"}
    settings = SamplingSettings(0.1, 5, 0.9, 0.05, 1.1, 0.2, 0.3, 7, 99, ("a", "b"))
    params = to_sampling_params(settings)
    assert {name: getattr(params, name) for name in kept} == {
        name: getattr(settings, name) for name in kept
    }


def test_rate_needs_two_moments() -> None:
    rate = TokenRate()
    assert rate.measure(0.0) == 0.0
    rate.add(1, 10.0)
    assert rate.measure(10.0) == 0.0


def test_rate_waits_for_a_clock_that_ticks_rarely() -> None:
    """Windows' ticks 64 times a second: many tokens come at the same moment."""
    rate = TokenRate()
    for _ in range(3):
        rate.add(1, 10.0)
    assert rate.measure(10.0) == 0.0
    assert rate.measure(10.25) == pytest.approx(8.0)


@pytest.mark.parametrize("reply", ["", "<think>\nhm", "<think>\nhm\n</think>\n\nso"])
def test_a_reply_that_goes_on_stands_behind_its_question(reply: str) -> None:
    """Also one that was broken off while it thought, which is no message otherwise."""
    conversation = create_conversation(("user", "q"), ("assistant", reply))
    request = create_request(conversation, continues_reply=True)
    assert request.messages == (Message("user", "q"), Message("assistant", reply))


def test_rate_is_that_of_the_last_second() -> None:
    rate = TokenRate()
    for number in range(11):
        rate.add(1, number * 0.1)
    assert rate.measure(1.0) == pytest.approx(10.0)
    for number in range(21):
        rate.add(2, 5.0 + number * 0.05)
    assert rate.measure(6.0) == pytest.approx(40.0)
    assert rate.measure(20.0) == 0.0


def test_thoughts_go_beside_the_answer_and_never_as_its_text() -> None:
    turns = [
        Turn(1, "user", "q", NOW),
        Turn(2, "assistant", "<think>\nhm\n</think>\n\nanswer", NOW),
        Turn(3, "user", "r", NOW),
        Turn(4, "assistant", "<think>\nstopped here", NOW),
        Turn(5, "user", "s", NOW),
    ]
    request = create_request(Conversation("c", "t", NOW, NOW, turns=tuple(turns)))
    messages = [(m.role, m.content, m.reasoning_content) for m in request.messages]
    assert messages == [
        ("user", "q", None),
        ("assistant", "answer", "hm"),
        ("user", "r\n\ns", None),
    ]
