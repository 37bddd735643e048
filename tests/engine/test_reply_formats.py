"""Each model's format: what a forced call or a held answer writes, the parser reads back."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from app.core.errors import UsageError
from app.engine.constraint import Constraint, Grammar, JsonSchema
from app.engine.detokenizer import Detokenizer
from app.engine.grammar import GrammarCompiler
from app.engine.output_parser.deltas import ParsedReply, join_deltas
from app.engine.output_parser.factory import create_parser
from app.engine.output_parser.reply_format import CallFormat, detect_format, shown_special_ids
from app.engine.output_parser.reply_grammar import reply_constraint
from app.engine.request import ForcedTool, Message, Request, SamplingParams
from app.engine.sampling import Sampler
from app.engine.stop_strings import count_held
from app.engine.tokenizer import Tokenizer
from app.engine.tools import tool_parameters
from tests.format_tokenizers import load_dressed

TOOLS = (
    {
        "type": "function",
        "function": {
            "name": "weather",
            "parameters": {
                "type": "object",
                "properties": {"city": {"$ref": "#/$defs/city"}, "days": {"enum": [1, 2]}},
                "required": ["city"],
                "additionalProperties": False,
                "$defs": {"city": {"type": "string", "maxLength": 6}},
            },
        },
    },
    {
        "type": "function",
        "function": {"name": "now", "parameters": {"additionalProperties": False}},
    },
)
CHAT = Request(messages=(Message("user", "Weather?"),), tools=TOOLS, shows_markers=True)
ANSWER = {
    "type": "object",
    "properties": {"a": {"type": "integer", "minimum": 0, "maximum": 99}},
    "required": ["a"],
    "additionalProperties": False,
}
FORMATS = {
    "chatml": CallFormat.UNKNOWN,
    "hermes": CallFormat.HERMES,
    "qwen3": CallFormat.HERMES,
    "open think": CallFormat.UNKNOWN,
    "llama3": CallFormat.LLAMA3,
    "mistral": CallFormat.MISTRAL,
    "mistral named": CallFormat.MISTRAL_NAMED,
    "granite": CallFormat.LISTED,
    "harmony": CallFormat.HARMONY,
    "unknown tools": CallFormat.UNKNOWN,
    "tools left out": CallFormat.LLAMA3,
}
# Where the template leaves tools out, the prompt asks for calls as Hermes writes them.
WITH_CALLS = [name for name in FORMATS if name != "unknown tools"]
THINKING = ("qwen3", "open think", "mistral named", "harmony")

Create = Callable[[str], Tokenizer]


@pytest.fixture(scope="module")
def tokenizer_of(starter_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Create:
    """A tokenizer by the name of its template, made once."""
    directory = tmp_path_factory.mktemp("formats")
    return lru_cache(lambda name: load_dressed(starter_gguf, name, directory / name))


@lru_cache
def compiler_of(tokenizer: Tokenizer) -> GrammarCompiler:
    return GrammarCompiler(tokenizer, tokenizer.vocab_size, tokenizer.eos_token_ids)


def write_reply(tokenizer: Tokenizer, request: Request, constraint: Constraint, seed: int) -> str:
    """What a model of random logits writes, as the engine lets it out.

    Ends and markers are likelier, so that thoughts come to an end.
    """
    vocab_size = tokenizer.vocab_size
    matcher = compiler_of(tokenizer).compile(constraint)
    reply_format = detect_format(tokenizer, request)
    closing = reply_format.think.closing
    sampler = Sampler(SamplingParams(temperature=1.0, seed=seed), [], vocab_size, matcher=matcher)
    detokenizer = Detokenizer(tokenizer, shown_ids=shown_special_ids(tokenizer, request))
    generator, text = np.random.default_rng(seed), ""
    for _ in range(600):
        logits = generator.normal(0, 2, vocab_size).astype(np.float32)
        likely = filter(None, map(tokenizer.find_token, reply_format.markers))
        logits[[*likely, *tokenizer.eos_token_ids]] += 12
        if tokenizer.find_token(closing) is None:
            num_spelled = count_held(text, [closing])
            logits[tokenizer.find_token(closing[num_spelled])] += 20 if num_spelled else 12
        token_id = sampler.sample(logits)
        sampler.check()
        if token_id in tokenizer.eos_token_ids:
            break
        text += detokenizer.add(token_id)
        if sampler.is_complete:
            break
    else:
        raise AssertionError(f"no end: {text[-100:]!r}")
    return text


def is_allowed(tokenizer: Tokenizer, constraint: Constraint, text: str) -> bool:
    """Whether the text is a whole reply under the constraint."""
    matcher = compiler_of(tokenizer).compile(constraint)
    for token_id in tokenizer.encode(text, add_special_tokens=False):
        if not matcher.allowed()[token_id]:
            return False
        matcher.accept(token_id)
    return matcher.is_complete or bool(matcher.allowed()[list(tokenizer.eos_token_ids)].any())


def parse(tokenizer: Tokenizer, request: Request, text: str) -> ParsedReply:
    parser = create_parser(tokenizer, request)
    pieces = [text[start : start + 5] for start in range(0, len(text), 5)]
    return join_deltas([d for piece in pieces for d in parser.add(piece)] + parser.flush())


@pytest.mark.parametrize("name", FORMATS)
def test_the_format_is_seen_in_the_template(tokenizer_of: Create, name: str) -> None:
    found = detect_format(tokenizer_of(name), replace(CHAT, tools=()))
    assert found.calls is FORMATS[name]
    assert found.thinks == (name in THINKING)
    assert found.think.is_open == (name == "open think")


@pytest.mark.parametrize("name", ["chatml", "open think", "tools left out"])
def test_tools_that_the_template_leaves_out_are_called_as_the_prompt_says(
    tokenizer_of: Create, name: str
) -> None:
    assert detect_format(tokenizer_of(name), CHAT).calls is CallFormat.HERMES


def test_thoughts_that_are_switched_off_are_not_waited_for(tokenizer_of: Create) -> None:
    off = replace(CHAT, template_kwargs={"enable_thinking": False})
    assert not detect_format(tokenizer_of("qwen3"), off).thinks


@pytest.mark.parametrize("name", ["open think", "qwen3"])
def test_a_reply_that_goes_on_has_its_thoughts_behind_it(tokenizer_of: Create, name: str) -> None:
    going_on = replace(
        CHAT, messages=(*CHAT.messages, Message("assistant", "It is")), continues_reply=True
    )
    found = detect_format(tokenizer_of(name), going_on)
    assert not found.thinks
    assert not found.think.is_open


@pytest.mark.parametrize("forced", [ForcedTool(), ForcedTool("now"), ForcedTool("weather")])
@pytest.mark.parametrize("name", WITH_CALLS)
def test_a_forced_call_is_written_and_read_back(
    tokenizer_of: Create, name: str, forced: ForcedTool
) -> None:
    tokenizer, request = tokenizer_of(name), replace(CHAT, forced_tool=forced)
    constraint = reply_constraint(tokenizer, request)
    assert constraint is not None
    for seed in range(2):
        reply = parse(tokenizer, request, write_reply(tokenizer, request, constraint, seed))
        assert reply.content == ""
        assert 1 <= len(reply.tool_calls) <= (8 if forced.name is None else 1)
        for call in reply.tool_calls:
            assert forced.name in (None, call.name)
            (tool,) = [tool for tool in TOOLS if tool["function"]["name"] == call.name]  # type: ignore[index]
            jsonschema.validate(json.loads(call.arguments), tool_parameters(tool))


@pytest.mark.parametrize("name", FORMATS)
def test_an_answer_is_held_to_its_schema_behind_the_thoughts(
    tokenizer_of: Create, name: str
) -> None:
    tokenizer = tokenizer_of(name)
    request = replace(CHAT, tools=(), constraint=JsonSchema(ANSWER))
    constraint = reply_constraint(tokenizer, request)
    assert constraint is not None
    thoughts = ""
    for seed in range(8 if name in THINKING else 2):
        text = write_reply(tokenizer, request, constraint, seed)
        reply = parse(tokenizer, request, text)
        jsonschema.validate(json.loads(reply.content), ANSWER)
        assert not reply.tool_calls
        thoughts += reply.reasoning
    assert bool(thoughts) == (name in THINKING)


@pytest.mark.parametrize("name", [name for name in WITH_CALLS if name != "llama3"])
def test_calls_may_come_in_place_of_an_answer_that_is_held(tokenizer_of: Create, name: str) -> None:
    tokenizer, request = tokenizer_of(name), replace(CHAT, constraint=JsonSchema(ANSWER))
    both = reply_constraint(tokenizer, request)
    assert both is not None
    for alone in (replace(request, tools=()), replace(request, forced_tool=ForcedTool())):
        constraint = reply_constraint(tokenizer, alone)
        assert constraint is not None
        for seed in range(2):
            text = write_reply(tokenizer, alone, constraint, seed)
            assert is_allowed(tokenizer, both, text), text
            reply = parse(tokenizer, request, text)
            assert bool(reply.tool_calls) == (alone.forced_tool is not None)
            assert bool(reply.content) != bool(reply.tool_calls)
    assert not is_allowed(tokenizer, both, "It is")


@pytest.mark.parametrize("name", ["llama3", "unknown tools"])
def test_calls_that_cannot_stand_in_place_of_an_answer_are_refused(
    tokenizer_of: Create, name: str
) -> None:
    request = replace(CHAT, constraint=JsonSchema(ANSWER))
    with pytest.raises(UsageError, match=r"held to a format|cannot both hold"):
        reply_constraint(tokenizer_of(name), request)


def test_a_grammar_of_its_own_follows_the_thoughts(tokenizer_of: Create) -> None:
    tokenizer = tokenizer_of("qwen3")
    request = replace(CHAT, tools=(), constraint=Grammar('start: "yes" | "no"'))
    constraint = reply_constraint(tokenizer, request)
    assert constraint is not None
    for seed in range(8):
        text = write_reply(tokenizer, request, constraint, seed)
        assert parse(tokenizer, request, text).content in ("yes", "no")


def test_a_free_reply_and_a_raw_prompt_have_no_grammar_of_the_format(
    tokenizer_of: Create,
) -> None:
    tokenizer = tokenizer_of("qwen3")
    assert reply_constraint(tokenizer, CHAT) is None
    held = Request(prompt="x", constraint=JsonSchema(ANSWER))
    assert reply_constraint(tokenizer, held) == JsonSchema(ANSWER)
    assert parse(tokenizer, held, "<think>x</think>").content == "<think>x</think>"


def test_a_call_cannot_be_forced_where_nobody_knows_how_it_is_written(
    tokenizer_of: Create,
) -> None:
    request = replace(CHAT, forced_tool=ForcedTool())
    with pytest.raises(UsageError, match=r"^How this model writes calls .* none can be forced,"):
        reply_constraint(tokenizer_of("unknown tools"), request)
    with pytest.raises(UsageError, match="no tool 'other'"):
        reply_constraint(tokenizer_of("hermes"), replace(CHAT, forced_tool=ForcedTool("other")))


def test_markers_are_shown_only_to_a_parser(tokenizer_of: Create) -> None:
    tokenizer = tokenizer_of("harmony")
    shown = shown_special_ids(tokenizer, CHAT)
    texts = {tokenizer.token_bytes(token_id).decode() for token_id in shown}
    assert {"<|channel|>", "<|message|>", "<|call|>"} <= texts
    assert "<|im_end|>" not in texts
    silent = replace(CHAT, shows_markers=False)
    assert shown_special_ids(tokenizer_of("mistral"), silent) == frozenset()
    # Here they tell thoughts, which are given another form.
    assert shown_special_ids(tokenizer, silent) == shown
    assert shown_special_ids(tokenizer, Request(prompt="x", shows_markers=True)) == frozenset()


def test_a_free_reply_of_channels_is_taken_apart_with_its_markers(tokenizer_of: Create) -> None:
    tokenizer = tokenizer_of("harmony")
    text = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hi"
    ids = tokenizer.encode(text, add_special_tokens=False)
    detokenizer = Detokenizer(tokenizer, shown_ids=shown_special_ids(tokenizer, CHAT))
    shown = "".join(detokenizer.add(token_id) for token_id in ids) + detokenizer.flush()
    reply = parse(tokenizer, CHAT, shown)
    assert (reply.content, reply.reasoning) == ("Hi", "Hm.")
