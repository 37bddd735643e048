"""Streaming ids gives the text of decoding them at once, and never half a character."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.engine.detokenizer import Detokenizer
from app.engine.tokenizer import Tokenizer
from tests.sentencepiece_model import build_files as build_sentencepiece_files
from tests.starter_tokenizer import build_files, load
from tests.text_samples import VARIED_TEXTS

_PROPERTY = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def byte_level(starter_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return load(build_files(starter_gguf), tmp_path_factory.mktemp("byte_level"))


@pytest.fixture(scope="module")
def sentencepiece(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return load(build_sentencepiece_files(), tmp_path_factory.mktemp("sentencepiece"))


@pytest.fixture(params=["byte_level", "sentencepiece"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    found: Tokenizer = request.getfixturevalue(request.param)
    return found


def _stream(tokenizer: Tokenizer, ids: list[int]) -> list[str]:
    detokenizer = Detokenizer(tokenizer)
    return [*(detokenizer.add(token_id) for token_id in ids), detokenizer.flush()]


@pytest.mark.parametrize("text", VARIED_TEXTS)
def test_a_text_comes_back_without_a_broken_character(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode(text, add_special_tokens=False, parse_special=False)
    pieces = _stream(tokenizer, ids)
    # SentencePiece writes a space as U+2581, so it cannot tell the two apart.
    expected = text.replace("▁", " ") if tokenizer.strip_prefix(b" ") == b"" else text
    assert "".join(pieces) == expected == tokenizer.decode(ids)
    assert not any("\ufffd" in piece for piece in pieces)


@_PROPERTY
@given(data=st.data())
def test_any_ids_join_to_their_decoding(tokenizer: Tokenizer, data: st.DataObject) -> None:
    any_id = st.integers(0, tokenizer.vocab_size + 2)
    ids = data.draw(st.lists(any_id, max_size=40))
    assert "".join(_stream(tokenizer, ids)) == tokenizer.decode(ids)


@_PROPERTY
@given(text=st.text(alphabet="a你👩\u200d🏽é\n ", max_size=12), cut=st.integers(0, 40))
def test_a_reply_cut_anywhere_shows_a_prefix_and_at_most_one_replacement(
    tokenizer: Tokenizer, text: str, cut: int
) -> None:
    ids = tokenizer.encode(text, add_special_tokens=False, parse_special=False)[:cut]
    *streamed, rest = _stream(tokenizer, ids)
    assert text.startswith("".join(streamed))
    assert rest in {"", "\ufffd"}


def test_a_character_spread_over_tokens_is_shown_when_it_is_complete(byte_level: Tokenizer) -> None:
    ids = byte_level.encode("好😀")
    assert _stream(byte_level, ids) == ["", "好", "", "", "😀", ""]


def test_bytes_that_are_no_character_become_a_replacement_before_the_next_text(
    byte_level: Tokenizer,
) -> None:
    half = byte_level.encode("好")[:1]
    assert _stream(byte_level, [*half, *byte_level.encode("ok")]) == ["", "\ufffdok", ""]
    assert _stream(byte_level, half) == ["", "\ufffd"]


def test_special_tokens_are_skipped_unless_asked_for(byte_level: Tokenizer) -> None:
    ids = byte_level.encode("a<|im_end|>b")
    assert _stream(byte_level, ids) == ["a", "", "b", ""]
    shown = Detokenizer(byte_level, skip_special_tokens=False)
    assert [shown.add(token_id) for token_id in ids] == ["a", "<|im_end|>", "b"]


def test_only_the_first_space_of_a_sentencepiece_reply_is_dropped(sentencepiece: Tokenizer) -> None:
    ids = sentencepiece.encode("the the", add_special_tokens=False)
    bos = sentencepiece.bos_token_id
    assert bos is not None
    assert "".join(_stream(sentencepiece, [bos, *ids])) == "the the"
    goes_on = Detokenizer(sentencepiece, continues_text=True)
    assert "".join(goes_on.add(token_id) for token_id in ids) == " the the"


def test_a_token_is_looked_up_once_however_long_the_reply_is(
    byte_level: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up: list[int] = []
    find = byte_level.token_bytes
    monkeypatch.setattr(byte_level, "token_bytes", lambda i: looked_up.append(i) or find(i))
    ids = list(range(17, 5017))
    _stream(byte_level, ids)
    assert looked_up == ids
