"""Replies held to schemas and grammars: whatever the logits are, what comes out is valid."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.core.errors import UsageError
from app.engine.constraint import Constraint, Grammar, JsonObject, JsonSchema
from app.engine.grammar import MAX_GRAMMAR_CHARS, GrammarCompiler, TokenMatcher
from app.engine.request import SamplingParams
from app.engine.sampling import Sampler
from app.engine.tokenizer import Tokenizer
from tests.json_schemas import Schema, schemas
from tests.sentencepiece_model import build_files as build_sentencepiece_files
from tests.starter_tokenizer import build_files, load

NUM_PADDED = 7  # rows of logits beyond the vocabulary
NESTED: Schema = {"type": "object"}
for _ in range(200):
    NESTED = {"type": "object", "properties": {"a": NESTED}}

_FORMATS = jsonschema.FormatChecker(set(jsonschema.FormatChecker.checkers))


@_FORMATS.checks("date", ValueError)
def _is_date(text: object) -> bool:
    """Of a leap year: a grammar knows how long months are, but not which years are leap years."""
    return not isinstance(text, str) or bool(date.fromisoformat(f"2024{text[4:]}"))


@pytest.fixture(scope="module")
def byte_level(starter_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return load(build_files(starter_gguf), tmp_path_factory.mktemp("byte_level"))


@pytest.fixture(scope="module")
def sentencepiece(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return load(build_sentencepiece_files(), tmp_path_factory.mktemp("sentencepiece"))


@pytest.fixture(scope="module")
def compilers(byte_level: Tokenizer, sentencepiece: Tokenizer) -> dict[str, GrammarCompiler]:
    named = {"byte_level": byte_level, "sentencepiece": sentencepiece}
    return {
        name: GrammarCompiler(tokenizer, tokenizer.vocab_size + NUM_PADDED, tokenizer.eos_token_ids)
        for name, tokenizer in named.items()
    }


@pytest.fixture
def compiler(compilers: dict[str, GrammarCompiler]) -> GrammarCompiler:
    return compilers["byte_level"]


def draw_reply(
    tokenizer: Tokenizer, matcher: TokenMatcher, seed: int, temperature: float = 1.0
) -> str:
    """What a model of random logits writes, to its end."""
    vocab_size = tokenizer.vocab_size + NUM_PADDED
    logits = np.random.default_rng(seed)
    params = SamplingParams(temperature=temperature, seed=seed)
    sampler = Sampler(params, [], vocab_size, matcher=matcher)
    ids: list[int] = []
    while not sampler.is_complete and len(ids) < 1000:
        token_id = sampler.sample(logits.normal(0, 3, vocab_size).astype(np.float32))
        sampler.check()
        if token_id in tokenizer.eos_token_ids:
            break
        ids.append(token_id)
    assert len(ids) < 1000
    return b"".join(map(tokenizer.token_bytes, ids)).decode()


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    schema=schemas(), seed=st.integers(0, 99), name=st.sampled_from(["byte_level", "sentencepiece"])
)
def test_any_reply_is_valid_under_its_schema(
    request: pytest.FixtureRequest,
    compilers: dict[str, GrammarCompiler],
    schema: Schema,
    seed: int,
    name: str,
) -> None:
    tokenizer: Tokenizer = request.getfixturevalue(name)
    matcher = compilers[name].compile(JsonSchema(schema))
    reply = json.loads(draw_reply(tokenizer, matcher, seed, temperature=float(seed % 2)))
    validator = jsonschema.validators.validator_for(schema)(schema, format_checker=_FORMATS)
    assert list(validator.iter_errors(reply)) == []


def walk(tokenizer: Tokenizer, matcher: TokenMatcher, text: str) -> str:
    """How much of `text` is allowed, token by token."""
    accepted: list[int] = []
    for token_id in tokenizer.encode(text, add_special_tokens=False):
        if not matcher.allowed()[token_id]:
            break
        matcher.accept(token_id)
        accepted.append(token_id)
    return tokenizer.decode(accepted, skip_special_tokens=False)


def allowed_ids(matcher: TokenMatcher) -> list[int]:
    return np.flatnonzero(matcher.allowed()).tolist()


def test_json_object_is_an_object(byte_level: Tokenizer, compiler: GrammarCompiler) -> None:
    text = '{"a": [1, 2.5e3, null, {"b": "c"}],\n "d": true}'
    matcher = compiler.compile(JsonObject())
    assert walk(byte_level, matcher, text) == text
    assert matcher.is_complete
    assert set(allowed_ids(matcher)) == set(byte_level.eos_token_ids)
    for wrong in ("[1]", "7", "hello", '"x"', " {"):
        assert walk(byte_level, compiler.compile(JsonObject()), wrong) == ""


def test_white_space_has_an_end(byte_level: Tokenizer, compiler: GrammarCompiler) -> None:
    text = '{"a":' + 40 * " " + "1}"
    accepted = walk(byte_level, compiler.compile(JsonObject()), text)
    assert len('{"a":') < len(accepted) <= len('{"a":') + 32


def test_the_end_is_allowed_where_the_reply_may_end(
    byte_level: Tokenizer, compiler: GrammarCompiler
) -> None:
    matcher = compiler.compile(JsonSchema({"type": "integer", "minimum": 0, "maximum": 150}))
    ends = set(byte_level.eos_token_ids)
    assert not ends & set(allowed_ids(matcher))
    assert walk(byte_level, matcher, "15") == "15"
    assert not matcher.is_complete
    digits = {byte_level.encode(digit, add_special_tokens=False)[0] for digit in "0"}
    assert set(allowed_ids(matcher)) == ends | digits
    assert walk(byte_level, matcher, "0") == "0"
    assert matcher.is_complete


def test_special_tokens_and_padding_are_never_allowed(
    byte_level: Tokenizer, compiler: GrammarCompiler
) -> None:
    matcher = compiler.compile(Grammar(r"start: /(.|\n)*/"))
    specials = {i for i in range(byte_level.vocab_size) if byte_level.is_special(i)}
    assert set(allowed_ids(matcher)) & specials == set(byte_level.eos_token_ids)
    assert max(allowed_ids(matcher)) < byte_level.vocab_size


def test_a_grammar_and_its_parts_are_followed(
    byte_level: Tokenizer, compiler: GrammarCompiler
) -> None:
    parts = (("number", "start: /[0-9]{3}/"),)
    matcher = compiler.compile(Grammar('start: "No. " @number', parts))
    assert walk(byte_level, matcher, "No. 4a") == "No. 4"
    assert walk(byte_level, matcher, "21") == "21"
    assert matcher.is_complete


def test_properties_that_are_forced_are_tokenized_as_the_model_knows_them(
    byte_level: Tokenizer, compiler: GrammarCompiler
) -> None:
    schema = {
        "type": "object",
        "properties": {"temperature": {"type": "integer"}},
        "required": ["temperature"],
        "additionalProperties": False,
    }
    matcher = compiler.compile(JsonSchema(schema))
    for token_id in byte_level.encode('{"temperature', add_special_tokens=False):
        assert matcher.allowed()[token_id]
        matcher.accept(token_id)


WRONG: list[tuple[Constraint, str]] = [
    (JsonSchema({"type": "strnig"}), r"^The JSON schema cannot be enforced: .*strnig.*\.$"),
    (JsonSchema({"type": "string", "pattern": "(?=a)"}), "cannot be enforced: look-around"),
    (JsonSchema({"not": {"type": "string"}}), 'Unimplemented keys: \\["not"\\]'),
    (JsonSchema({"type": "string", "format": "colour"}), "Unknown format: colour"),
    (JsonSchema({"allOf": [{"type": "null"}, {"type": "string"}]}), "Unsatisfiable"),
    (JsonSchema({"$ref": "https://example.com/x"}), "cannot be enforced: "),
    (JsonSchema({"$ref": "#"}), "cannot be enforced: "),
    (JsonSchema({"$ref": "#/$defs/none"}), "cannot be enforced: "),
    (JsonSchema({"enum": []}), "cannot be enforced: "),
    (JsonSchema({"type": "integer", "minimum": 3, "maximum": 1}), "cannot be enforced: "),
    (JsonSchema({"enum": [object()]}), r"^The JSON schema cannot be read: .*\.$"),
    (JsonSchema({"enum": ["x" * MAX_GRAMMAR_CHARS]}), "longer than 262,144 characters"),
    (JsonSchema(NESTED), "recursion limit exceeded"),
    (Grammar("start: foo"), r"^The grammar cannot be enforced: .*foo.*\.$"),
    (
        Grammar('start: %json {"type": "x"}'),
        r"^The JSON schema cannot be enforced: Invalid type: x\.$",
    ),
    (Grammar("begin: /a/"), "^The grammar cannot be enforced: "),
    (Grammar("start: /a(/"), "^The grammar cannot be enforced: "),
    (Grammar("start: @nothing"), "^The grammar cannot be enforced: "),
    (Grammar("start: <no_such_token>"), "^The grammar cannot be enforced: "),
    (Grammar(""), "^The grammar cannot be enforced: "),
    (Grammar("%%%"), "^The grammar cannot be enforced: "),
]


@pytest.mark.parametrize(("constraint", "sentence"), WRONG, ids=lambda value: str(value)[:50])
def test_what_cannot_be_enforced_is_one_sentence(
    compiler: GrammarCompiler, constraint: Constraint, sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence) as caught:
        compiler.compile(constraint)
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 400


KEYWORDS = """
    type properties required items prefixItems additionalProperties patternProperties enum const
    anyOf oneOf allOf not $ref $defs minimum maximum multipleOf minLength maxLength pattern format
    minItems maxItems uniqueItems minProperties x-guidance if then $id
"""
SCHEMA_KEYS = st.sampled_from(KEYWORDS.split())
SCHEMA_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats()
    | st.sampled_from(
        ["string", "object", "array", "null", "#", "#/$defs/a", "date", "^a+$", "[", "a{9}{99}"]
    )
    | st.text(max_size=4)
)
NONSENSE = st.dictionaries(
    SCHEMA_KEYS,
    st.recursive(
        SCHEMA_LEAVES,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SCHEMA_KEYS, inner, max_size=3),
        max_leaves=10,
    ),
    max_size=5,
)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(schema=NONSENSE)
def test_a_schema_of_nonsense_is_enforced_or_refused_in_one_sentence(
    compiler: GrammarCompiler, schema: Schema
) -> None:
    try:
        matcher = compiler.compile(JsonSchema(schema))
    except UsageError as error:
        refusal = error.message
    else:
        assert matcher.allowed().any()
        return
    assert "\n" not in refusal


def test_a_tokenizer_without_an_end_still_ends(byte_level: Tokenizer) -> None:
    compiler = GrammarCompiler(byte_level, byte_level.vocab_size + NUM_PADDED, [])
    text = draw_reply(byte_level, compiler.compile(JsonSchema({"enum": ["yes", "no"]})), 1)
    assert text in ('"yes"', '"no"')


def test_the_bytes_of_inner_text_are_its_own(
    byte_level: Tokenizer, sentencepiece: Tokenizer
) -> None:
    texts: Iterable[Any] = [
        "a",
        "the the",
        " the",
        "  x",
        '{"a":',
        "é\n",
        "你好",
        "\x02x",
        "",
        "</s>",
    ]
    for tokenizer in (byte_level, sentencepiece):
        for text in texts:
            ids = tokenizer.encode_inner(text)
            assert ids is not None
            assert b"".join(map(tokenizer.token_bytes, ids)) == text.encode()
            assert not any(map(tokenizer.is_special, ids))
