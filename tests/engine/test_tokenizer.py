"""The engine's tokenizer: what it reads from a folder, special tokens, and bos exactly once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend

from app.core.errors import CheckpointError
from app.engine.tokenizer import Tokenizer
from tests.starter_tokenizer import build_files, load, write_files
from tests.text_samples import VARIED_TEXTS


@pytest.fixture(scope="module")
def starter(starter_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return load(build_files(starter_gguf), tmp_path_factory.mktemp("starter"))


@pytest.fixture
def folder(starter_gguf: Path, tmp_path: Path) -> Path:
    return write_files(build_files(starter_gguf), tmp_path)


def _change_json(path: Path, **changes: Any) -> None:
    content = json.loads(path.read_text(encoding="utf-8")) | changes
    path.write_text(json.dumps(content), encoding="utf-8")


def test_the_starter_knows_its_special_tokens(starter: Tokenizer) -> None:
    assert starter.bos_token_id == 1
    assert starter.eos_token_ids == (2, 0)
    assert starter.vocab_size == 49152
    assert [starter.is_special(i) for i in (0, 16, 17, 49151, 49152)] == [
        True,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize("text", ["<|im_end|>", "a<|im_start|>b", "<repo_name>"])
def test_special_tokens_in_a_text_are_parsed_only_when_asked(starter: Tokenizer, text: str) -> None:
    assert any(map(starter.is_special, starter.encode(text)))
    spelled = starter.encode(text, parse_special=False)
    assert not any(map(starter.is_special, spelled))
    assert starter.decode(spelled) == text


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ids=st.lists(st.integers(17, 49151), max_size=30))
def test_decoding_equals_that_of_the_library(
    starter: Tokenizer, starter_gguf: Path, ids: list[int]
) -> None:
    backend = _backend(build_files(starter_gguf)["tokenizer.json"])
    assert starter.decode(ids) == backend.decode(ids)


_BACKENDS: dict[str, Backend] = {}


def _backend(content: str) -> Backend:
    if content not in _BACKENDS:
        _BACKENDS[content] = Backend.from_str(content)
    return _BACKENDS[content]


@pytest.mark.parametrize("text", VARIED_TEXTS[::7])
def test_every_text_comes_back(starter: Tokenizer, text: str) -> None:
    assert starter.decode(starter.encode(text), skip_special_tokens=False) == text


def test_half_a_surrogate_pair_becomes_a_replacement_character(starter: Tokenizer) -> None:
    assert starter.decode(starter.encode("a\ud83db")) == "a\ufffdb"
    assert starter.decode(starter.encode("\ud83d\ude00")) == "😀"


def test_ids_beyond_the_vocabulary_are_no_text(starter: Tokenizer) -> None:
    assert starter.token_bytes(49152) == b""
    assert starter.decode([49152, 10**9, 2**40, -1]) == ""


def test_token_bytes_are_the_raw_bytes_of_a_piece(starter: Tokenizer) -> None:
    first, second = starter.encode("好")
    assert starter.token_bytes(first) + starter.token_bytes(second) == "好".encode()
    assert starter.token_bytes(2) == b"<|im_end|>"


@pytest.mark.parametrize(
    ("template_adds_bos", "adds_bos", "expected"),
    [(False, True, [1, 88]), (False, False, [88]), (True, True, [88]), (None, True, [88])],
)
def test_bos_is_put_before_a_chat_only_where_its_template_leaves_it_out(
    folder: Path, template_adds_bos: bool | None, adds_bos: bool, expected: list[int]
) -> None:
    # None is a repository's own file, where a template without bos means none.
    changes = {"template_adds_bos": template_adds_bos, "add_bos_token": adds_bos}
    _change_json(folder / "tokenizer_config.json", **changes)
    tokenizer = Tokenizer.from_dir(folder)
    assert tokenizer.encode_chat("h") == expected
    assert tokenizer.encode_chat("<|im_start|>h") == [1, 88]


@pytest.mark.parametrize(
    ("listed", "expected"), [(0, (0, 2)), ([0, 7], (0, 7, 2)), (None, (2,)), ("x", (2,))]
)
def test_eos_ids_are_one_or_a_list_and_hold_the_eos_token(
    folder: Path, listed: object, expected: tuple[int, ...]
) -> None:
    _change_json(folder / "generation_config.json", eos_token_id=listed)
    assert Tokenizer.from_dir(folder).eos_token_ids == expected


def test_only_tokenizer_json_is_needed(folder: Path) -> None:
    (folder / "tokenizer_config.json").unlink()
    (folder / "generation_config.json").unlink()
    tokenizer = Tokenizer.from_dir(folder)
    assert tokenizer.decode(tokenizer.encode("hello")) == "hello"
    assert (tokenizer.bos_token_id, tokenizer.eos_token_ids, tokenizer.chat_template) == (
        None,
        (),
        None,
    )


def test_a_special_token_may_be_written_as_an_object(folder: Path) -> None:
    token = {"content": "<repo_name>", "special": True}
    _change_json(folder / "tokenizer_config.json", bos_token=token)
    assert Tokenizer.from_dir(folder).bos_token_id == 3


TRUNCATION = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
PADDING = {
    "strategy": {"Fixed": 64},
    "direction": "Right",
    "pad_to_multiple_of": None,
    "pad_id": 0,
    "pad_type_id": 0,
    "pad_token": "<|endoftext|>",
}


@pytest.mark.parametrize("left", [{"truncation": TRUNCATION}, {"padding": PADDING}])
@pytest.mark.parametrize("parses", [True, False])
def test_what_training_left_in_a_tokenizer_json_cuts_and_fills_nothing(
    folder: Path, left: dict[str, Any], parses: bool
) -> None:
    from transformers import PreTrainedTokenizerFast

    wanted = Tokenizer.from_dir(folder).encode("one two three four five six")
    _change_json(folder / "tokenizer.json", **left)
    found = Tokenizer.from_dir(folder).encode("one two three four five six", parse_special=parses)
    oracle = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    assert found == wanted == oracle("one two three four five six")["input_ids"]


def test_a_special_token_of_half_a_surrogate_pair_is_none(folder: Path) -> None:
    _change_json(folder / "tokenizer_config.json", bos_token="\ud83d")
    assert Tokenizer.from_dir(folder).bos_token_id == 1  # as generation_config.json has it


def test_a_template_file_of_its_own_is_preferred(folder: Path) -> None:
    (folder / "chat_template.json").write_text('{"chat_template": "json"}', encoding="utf-8")
    _change_json(folder / "tokenizer_config.json", chat_template=None)
    assert _render_nothing(folder) == "json"
    _change_json(folder / "tokenizer_config.json", chat_template="config")
    assert _render_nothing(folder) == "config"
    (folder / "chat_template.jinja").write_text("file", encoding="utf-8")
    assert _render_nothing(folder) == "file"


def _render_nothing(folder: Path) -> str:
    template = Tokenizer.from_dir(folder).chat_template
    assert template
    return template.render([])


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "null", "{}", '{"model": 1}', '{"version": "1.0", "model": {"type": "X"}}'],
)
def test_a_damaged_tokenizer_is_one_sentence_that_names_the_file(
    folder: Path, content: str
) -> None:
    (folder / "tokenizer.json").write_text(content, encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"tokenizer\.json is not a valid tokenizer\.$"):
        Tokenizer.from_dir(folder)


def test_a_truncated_tokenizer_is_refused(folder: Path) -> None:
    path = folder / "tokenizer.json"
    path.write_bytes(path.read_bytes()[:100_000])
    with pytest.raises(CheckpointError, match=r"tokenizer\.json (is not|cannot be)"):
        Tokenizer.from_dir(folder)


def test_a_missing_or_unreadable_file_is_named(folder: Path) -> None:
    (folder / "tokenizer.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CheckpointError, match=r"tokenizer\.json cannot be read\.$"):
        Tokenizer.from_dir(folder)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(CheckpointError, match=r"tokenizer\.json cannot be read\.$"):
        Tokenizer.from_dir(folder)


@pytest.mark.parametrize("name", ["tokenizer_config.json", "generation_config.json"])
@pytest.mark.parametrize("content", ["{", "[]", "[" * 100_000])
def test_a_damaged_configuration_is_named(folder: Path, name: str, content: str) -> None:
    (folder / name).write_text(content, encoding="utf-8")
    with pytest.raises(CheckpointError, match=rf"{name} is damaged"):
        Tokenizer.from_dir(folder)


@pytest.mark.parametrize("decoder", [None, {"type": "WordPiece", "prefix": "##", "cleanup": True}])
def test_an_unknown_decoder_is_refused_by_name(folder: Path, decoder: object) -> None:
    _change_json(folder / "tokenizer.json", decoder=decoder)
    with pytest.raises(CheckpointError, match=r"decoder is not supported: (none|WordPiece)"):
        Tokenizer.from_dir(folder)
