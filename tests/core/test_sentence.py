"""A sentence is its English text wherever a text is taken, and stays what it was made of."""

from __future__ import annotations

import copy
import json
import pickle
from enum import IntEnum, StrEnum
from pathlib import Path

import numpy as np
import pytest

from app.core.errors import AppError, HubBusyError, InvalidSourceError, UsageError
from app.core.events import ErrorInfo
from app.core.sentence import Sentence, clauses, listing, pack, sentences, unpack


class Word(StrEnum):
    ONE = "one"


class Number(IntEnum):
    SEVEN = 7


def test_it_is_its_english_text() -> None:
    sentence = Sentence("{name} has {size:,} bytes.", name="a.gguf", size=12345)
    assert sentence == "a.gguf has 12,345 bytes."
    assert json.dumps([sentence]) == '["a.gguf has 12,345 bytes."]'
    assert f"{sentence}" in {sentence: 1}
    assert (sentence.template, sentence.values) == (
        "{name} has {size:,} bytes.",
        {"name": "a.gguf", "size": 12345},
    )


@pytest.mark.parametrize("text", ["{", "a {b} {0} %s", "}{"])
def test_a_text_without_values_is_never_formatted(text: str) -> None:
    assert Sentence(text) == text
    assert UsageError(text).message == text


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Path("/a/b"), str(Path("/a/b"))),
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (np.dtype(np.float16), "float16"),
        (Word.ONE, "one"),
        (Number.SEVEN, 7),
        (True, True),
        (None, None),
        ([1, "a"], [1, "a"]),
        (OSError("gone"), "gone"),
    ],
)
def test_values_are_plain_data(value: object, plain: object) -> None:
    sentence = Sentence("{value}", value=value)
    (kept,) = sentence.values.values()
    assert (type(kept), kept) == (type(plain), plain)
    assert sentence == str(plain)


def test_a_sentence_within_stays_one_also_that_of_an_exception() -> None:
    inner = Sentence("no {what}", what="weights")
    for value in (inner, ValueError(inner), UsageError("no {what}", what="weights")):
        outer = Sentence("{reason}.", reason=value)
        assert outer == "no weights."
        kept = outer.values["reason"]
        assert isinstance(kept, Sentence)
        assert kept.values == {"what": "weights"}


def test_it_goes_through_pickle_copies_and_json() -> None:
    whole = Sentence("{a}: {b}", a=Sentence("x {n:.2g}", n=0.5), b=Path("/c"))
    packed = unpack(json.loads(json.dumps(pack(whole))))
    for other in (pickle.loads(pickle.dumps(whole)), copy.deepcopy(whole), packed):
        assert isinstance(other, Sentence)
        assert (other, other.template, other.values) == (whole, whole.template, whole.values)
        assert isinstance(other.values["a"], Sentence)
    assert unpack(pack("plain {text}")) == "plain {text}"
    with pytest.raises(TypeError):
        unpack(3)


def test_lists_are_said_in_the_commas_of_the_language() -> None:
    assert listing(["a"]) == "a"
    assert listing(iter(["a", "b", "c"])) == "a, b, c"
    assert clauses(["a", "b"]) == "a; b"
    assert sentences(["A.", "B."]) == "A. B."
    assert isinstance(listing("ab"), Sentence)


def test_an_error_keeps_its_template_on_the_way_to_a_window() -> None:
    error: AppError = InvalidSourceError("{name} is damaged.", name="m.gguf", detail="at 0x10")
    info = pickle.loads(pickle.dumps(ErrorInfo.from_exception(error)))
    back = info.to_exception()
    for message in (info.message, back.message, pickle.loads(pickle.dumps(error)).message):
        assert isinstance(message, Sentence)
        assert (message.template, message.values) == ("{name} is damaged.", {"name": "m.gguf"})
    assert (type(back), back.detail, str(error)) == (
        InvalidSourceError,
        "at 0x10",
        "m.gguf is damaged.",
    )


def test_what_a_caller_needs_is_no_value_of_the_sentence() -> None:
    error = HubBusyError("{hub} is busy.", hub="x", wait_s=3.0)
    assert (error.message, error.wait_s) == ("x is busy.", 3.0)


def test_an_unexpected_fault_is_a_sentence_too() -> None:
    message = ErrorInfo.from_exception(KeyError("a {b}")).message
    assert isinstance(message, Sentence)
    assert message.template == "Internal error: {reason}"
