"""Whoever only shows text gets every model's thoughts between the same two marks."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest

from app.core.events import TokensGenerated
from app.engine.detokenizer import Detokenizer
from app.engine.engine import Engine
from app.engine.loader import load_engine
from app.engine.output_parser.factory import create_stop_strings
from app.engine.output_parser.reply_format import shown_special_ids
from app.engine.request import Message, Request, SamplingParams
from app.engine.tokenizer import Tokenizer
from tests.format_tokenizers import load_dressed

CHAT = Request(messages=(Message("user", "Hi"),), sampling=SamplingParams(stop=("STOP",)))

Create = Callable[[str], Tokenizer]


@pytest.fixture(scope="module")
def tokenizer_of(starter_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Create:
    directory = tmp_path_factory.mktemp("thoughts")
    return lru_cache(lambda name: load_dressed(starter_gguf, name, directory / name))


def shown(tokenizer: Tokenizer, request: Request, text: str) -> str:
    """What the engine lets out of a reply that the model wrote as `text`."""
    detokenizer = Detokenizer(tokenizer, shown_ids=shown_special_ids(tokenizer, request))
    stops = create_stop_strings(tokenizer, request)
    ids = tokenizer.encode(text, add_special_tokens=False)
    return "".join(stops.add(detokenizer.add(token_id)) for token_id in ids) + stops.flush()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("qwen3", "<think>\nWell, 1 < 2.\n</think>\n\nYes."),
        ("open think", "Well, 1 < 2.\n</think>\nYes."),
        ("mistral named", "[THINK]Well, 1 < 2.[/THINK]Yes."),
        (
            "harmony",
            "<|channel|>analysis<|message|>Well, 1 < 2.<|end|><|start|>assistant"
            "<|channel|>final<|message|>Yes.",
        ),
    ],
)
def test_thoughts_have_one_form(tokenizer_of: Create, name: str, text: str) -> None:
    expected = "<think>\nWell, 1 < 2.\n</think>\n\nYes."
    assert shown(tokenizer_of(name), CHAT, text) == expected
    assert shown(tokenizer_of(name), CHAT, text + "STOP and more") == expected
    cut = shown(tokenizer_of(name), CHAT, text[: text.index("1 <")])
    assert cut.rstrip() == "<think>\nWell,"


@pytest.mark.parametrize("name", ["chatml", "hermes", "llama3", "qwen3"])
def test_other_text_stays_as_it_is(tokenizer_of: Create, name: str) -> None:
    for text in ("\n Yes. \n", "a <think> b", "<b>", '{"a": 1}', ""):
        assert shown(tokenizer_of(name), CHAT, text) == text


def test_a_prompt_that_begins_the_thoughts_shows_them_from_the_first_token(
    starter_checkpoint: Path, tokenizer_of: Create
) -> None:
    loaded = load_engine(starter_checkpoint, "cpu", 256)
    engine = Engine(loaded.executor, tokenizer_of("open think"))
    engine.add(Request(messages=CHAT.messages, sampling=SamplingParams(0.0, max_tokens=4)))
    text = ""
    while engine.has_work:
        text += "".join(e.text for e in engine.step() if isinstance(e, TokensGenerated))
    loaded.close()
    assert text.startswith("<think>\n")
    assert len(text) > len("<think>\n")
