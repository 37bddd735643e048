"""Each pre-tokenizer kind cuts text as the model's own tokenizer.json does: checked by hand."""

from __future__ import annotations

import json

import pytest
from tokenizers import Tokenizer

from app.converter.gguf_pretokenizers import PRE_TOKENIZERS
from app.engine.token_bytes import create_byte_alphabet

TEXT = "I'LL pay 12345€ for\n\n  getHTTPResponse()//ok 你好吗"
CAMEL, REST = " getHTTPResponse", ("()//", "ok")
GPT2 = ("I", "'", "LL", " pay", " 12345", "€", " for", "\n\n ", CAMEL, *REST, " 你好吗")
DIGITS = ("I", "'", "LL", " pay", " ", *"12345", "€", " for", "\n\n ", CAMEL, *REST, " 你好吗")
CL100K = ("I", "'LL", " pay", " ", "123", "45", "€", " for", "\n\n", " ", CAMEL, *REST, " 你好吗")
QWEN = ("I", "'LL", " pay", " ", *"12345", "€", " for", "\n\n", " ", CAMEL, *REST, " 你好吗")
DEEPSEEK = (
    "I",
    "'",
    "LL",
    " pay",
    " ",
    *"12345",
    "€",
    " for",
    "\n",
    "\n",
    " ",
    CAMEL,
    *REST,
    " ",
    "你好吗",
)
CUT_CAMEL = (" get", "HTTPResponse")
O200K = ("I'LL", *CL100K[2:-4], *CUT_CAMEL, *CL100K[-3:])
EXPECTED = {
    "gpt-2": GPT2,
    "phi-2": GPT2,
    "exaone4": GPT2,
    "gigachat": GPT2,
    "a.x-4.0": GPT2,
    "mellum": GPT2,
    "trillion": GPT2,
    "granite-docling": GPT2,
    "olmo": GPT2,
    "smollm": DIGITS,
    "starcoder": DIGITS,
    "refact": DIGITS,
    "minerva-7b": DIGITS,
    "command-r": DIGITS,
    "llama3": CL100K,
    "llama-v3": CL100K,
    "llama-bpe": CL100K,
    "falcon3": CL100K,
    "midm-2.0": CL100K,
    "dbrx": CL100K,
    "smaug-bpe": CL100K,
    "chatglm-bpe": CL100K,
    "glm4": CL100K,
    "seed-coder": QWEN,
    "qwen2": QWEN,
    "deepseek-r1-qwen": QWEN,
    "megrez": QWEN,
    "kormo": QWEN,
    "qwen35": QWEN,
    "tekken": (*QWEN[:-4], *CUT_CAMEL, *QWEN[-3:]),
    "gpt-4o": O200K,
    "kanana2": O200K,
    "kimi-k2": ("I'LL", *CL100K[2:-4], *CUT_CAMEL, *REST, " ", "你好吗"),
    "deepseek-llm": DEEPSEEK,
    "deepseek-coder": DEEPSEEK,
    "deepseek-v3": (*CL100K[:-1], " ", "你好吗"),
}
# Where kinds that agree on TEXT differ: a vowel sign (no letter), a letter without case, a symbol.
DIFFERENCES = {
    ("qwen2", "\u0915\u093e"): ["\u0915", "\u093e"],
    ("qwen35", "\u0915\u093e"): ["\u0915\u093e"],
    ("deepseek-llm", "=a"): ["=", "a"],
    ("deepseek-llm", "a\u05d0"): ["a", "\u05d0"],
    ("deepseek-coder", "a\u05d0"): ["a\u05d0"],
    ("deepseek-llm", " +x"): [" +", "x"],
    ("deepseek-coder", " +x"): [" +", "x"],
    ("deepseek-coder", "a +"): ["a", " +"],
    ("deepseek-v3", "(ab)"): ["(ab", ")"],
    ("llama-bpe", "(ab)"): ["(ab", ")"],
    ("tekken", "a/\n/b"): ["a", "/\n/", "b"],
    ("llama-bpe", "a/\n/b"): ["a", "/\n", "/b"],
    ("qwen2", "a/\nb"): ["a", "/\n", "b"],
    ("seed-coder", "a/\nb"): ["a", "/", "\n", "b"],
    ("gpt-4o", "don't DON'T"): ["don't", " DON'T"],
    ("gpt-4o", "a你b/\n/"): ["a你b", "/\n/"],
    ("kimi-k2", "a你b/\n/"): ["a", "你", "b", "/\n", "/"],
    ("tekken", "don't DON'T"): ["don", "'t", " DON", "'T"],
}
_ALPHABET = create_byte_alphabet()


def _load(kind: str) -> Tokenizer:
    found = PRE_TOKENIZERS[kind]
    content = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": found.normalizer,
        "pre_tokenizer": found.to_json(),
        "model": {"type": "BPE", "vocab": {}, "merges": []},
    }
    return Tokenizer.from_str(json.dumps(content))


def _cut(kind: str, text: str) -> list[str]:
    pieces = _load(kind).pre_tokenizer.pre_tokenize_str(text)
    return [bytes(_ALPHABET[character] for character in piece).decode() for piece, _ in pieces]


@pytest.mark.parametrize("kind", PRE_TOKENIZERS)
def test_a_text_is_cut_as_checked_by_hand(kind: str) -> None:
    assert _cut(kind, TEXT) == list(EXPECTED[kind])


@pytest.mark.parametrize(("kind", "text"), DIFFERENCES)
def test_kinds_differ_where_they_should(kind: str, text: str) -> None:
    assert _cut(kind, text) == DIFFERENCES[kind, text]


@pytest.mark.parametrize(
    "kind", ["llama-bpe", "falcon3", "dbrx", "qwen2", "qwen35", "tekken", "gpt-4o"]
)
def test_patterns_are_those_of_transformers(kind: str) -> None:
    from transformers.integrations.gguf.gguf_tokenizer_mapping import GGUF_PRE_TOKENIZER_SPLITS

    split, byte_level = PRE_TOKENIZERS[kind].steps
    assert split["pattern"]["Regex"] == GGUF_PRE_TOKENIZER_SPLITS[kind]
    assert byte_level["use_regex"] is False


@pytest.mark.parametrize("kind", PRE_TOKENIZERS)
def test_text_is_composed_only_where_the_model_does_so(kind: str) -> None:
    normalizer = _load(kind).normalizer
    composed = normalizer.normalize_str("e\u0301") if normalizer else "e\u0301"
    composing = {"olmo", "command-r", "qwen2", "qwen35", "deepseek-r1-qwen"}
    assert (composed == "\u00e9") is (kind in composing)
