"""SentencePiece vocabularies: the same ids and texts as SentencePiece itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.converter.gguf_tokenizer import build_tokenizer_files
from app.core.errors import InvalidSourceError
from app.engine.tokenizer import Tokenizer
from tests.sentencepiece_model import create_metadata, train
from tests.starter_tokenizer import load
from tests.text_samples import VARIED_TEXTS

_MIXED = "the sea 12今天ПриветЖ\n\t <>/_▁😀é"


def _build(processor: sentencepiece.SentencePieceProcessor, **changes: Any) -> dict[str, str]:
    metadata = create_metadata(processor) | {f"tokenizer.ggml.{k}": v for k, v in changes.items()}
    return build_tokenizer_files(metadata, {}, "spm.gguf")


@pytest.fixture(scope="module", params=[True, False], ids=["prefix_space", "no_prefix_space"])
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Tokenizer, sentencepiece.SentencePieceProcessor]:
    processor = train(add_dummy_prefix=request.param)
    files = _build(processor, add_space_prefix=request.param)
    return load(files, tmp_path_factory.mktemp("spm")), processor


Pair = tuple[Tokenizer, sentencepiece.SentencePieceProcessor]


@pytest.mark.parametrize("text", VARIED_TEXTS)
def test_ids_and_decoding_equal_sentencepiece(pair: Pair, text: str) -> None:
    tokenizer, processor = pair
    ids = tokenizer.encode(text, add_special_tokens=False, parse_special=False)
    assert ids == processor.encode(text)
    assert tokenizer.decode(ids) == processor.decode(ids)


@settings(
    deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=st.text(alphabet=_MIXED, max_size=30))
def test_any_text_gives_the_ids_of_sentencepiece(pair: Pair, text: str) -> None:
    tokenizer, processor = pair
    assert tokenizer.encode(
        text, add_special_tokens=False, parse_special=False
    ) == processor.encode(text)


def test_bos_is_added_and_control_tokens_are_found_in_text(tmp_path: Path) -> None:
    processor = train()
    tokenizer = load(_build(processor), tmp_path)
    bos, eos = processor.bos_id(), processor.eos_id()
    assert tokenizer.encode("the") == [bos, *processor.encode("the")]
    # As in llama.cpp, text after a special token has a prefix space of its own.
    expected = [*processor.encode("the"), eos, *processor.encode("sea")]
    assert tokenizer.encode("the</s>sea", add_special_tokens=False) == expected
    assert eos not in tokenizer.encode("the</s>sea", parse_special=False)


def test_mistral_vocabularies_have_the_prefix_space_only_at_the_very_start(tmp_path: Path) -> None:
    # As mistral-common encodes a turn: [INST], then the text with its one prefix space, which the
    # template writes as "[INST] the".
    processor = train()
    tokens = create_metadata(processor)["tokenizer.ggml.tokens"]
    tokenizer = load(
        _build(processor, tokens=["[INST]" if t == "</s>" else t for t in tokens]), tmp_path
    )
    expected = [processor.eos_id(), *processor.encode("the sea")]
    assert tokenizer.encode("[INST] the sea", add_special_tokens=False) == expected
    assert tokenizer.encode("the sea", add_special_tokens=False) == processor.encode("the sea")


def test_bytes_without_a_piece_are_decoded_as_utf8(tmp_path: Path) -> None:
    tokenizer = load(_build(train()), tmp_path)
    text = "𓀀𓂀"  # hieroglyphs, which are in none of the training texts
    ids = tokenizer.encode(text, add_special_tokens=False)
    assert [tokenizer.token_bytes(token_id) for token_id in ids[1:]] == [
        bytes([b]) for b in text.encode()
    ]
    assert tokenizer.decode(ids) == text


def test_the_file_decides_whether_bos_is_added(tmp_path: Path) -> None:
    tokenizer = load(_build(train(), add_bos_token=False, add_eos_token=True), tmp_path)
    assert tokenizer.encode("the") == [*train().encode("the"), train().eos_id()]


@pytest.mark.parametrize("scores", [None, [0.0], "x", [float("nan")] * 600])
def test_scores_must_be_one_number_a_token(scores: object) -> None:
    with pytest.raises(InvalidSourceError, match=r"^spm\.gguf: .*scores"):
        _build(train(), scores=scores)


def test_merges_are_derived_in_order_of_score() -> None:
    metadata = {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": ["<unk>", "a", "b", "ab", "aab", "<x>"],
        "tokenizer.ggml.token_type": [2, 1, 1, 1, 1, 4],
        "tokenizer.ggml.scores": [0.0, -3.0, -4.0, -2.0, -1.0, 0.0],
    }
    files = build_tokenizer_files(metadata, {}, "spm.gguf")
    assert json.loads(files["tokenizer.json"])["model"]["merges"] == [["a", "ab"], ["a", "b"]]
