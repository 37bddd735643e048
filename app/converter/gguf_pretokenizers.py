"""How each `tokenizer.ggml.pre` kind cuts text before byte-pair merging.

A GGUF names its split, it does not hold it. Each entry is the `normalizer` and `pre_tokenizer` of the
`tokenizer.json` that the model's own repository publishes, in the words of Hugging Face's `tokenizers`;
which kinds share one is the grouping of llama.cpp's `src/llama-vocab.cpp`. A kind that is not in the table
is refused: a wrong split still gives text, only of a model that has become a little more stupid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"

_CL100K = (
    rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_SPACES}"
)
_QWEN2 = rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_SPACES}"
_QWEN35 = (
    rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}"
    rf"| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{_SPACES}"
)

_UPPER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}"
_LOWER = r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_TITLE_WORD = rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]*[{_LOWER}]+"
_UPPER_WORD = rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]+[{_LOWER}]*"
_SYMBOLS = r" ?[^\s\p{L}\p{N}]+[\r\n/]*"
_TEKKEN = rf"{_TITLE_WORD}|{_UPPER_WORD}|\p{{N}}|{_SYMBOLS}|{_SPACES}"
_O200K = rf"{_TITLE_WORD}{_CONTRACTIONS}?|{_UPPER_WORD}{_CONTRACTIONS}?|\p{{N}}{{1,3}}|{_SYMBOLS}|{_SPACES}"

_DEEPSEEK_V3 = (
    r"\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_SPACES}",
)

_NFC = {"type": "NFC"}
_DIGITS = {"type": "Digits", "individual_digits": True}


def _byte_level(*, use_regex: bool) -> dict[str, Any]:
    """Maps bytes to GPT-2's alphabet; `use_regex` also applies GPT-2's own split."""
    return {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": use_regex,
    }


def _split(pattern: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


@dataclass(frozen=True, slots=True)
class PreTokenizer:
    """The parts of a `tokenizer.json` that `tokenizer.ggml.pre` stands for.

    `ignore_merges` takes a word whole when the vocabulary has it, whatever the merges would make of it;
    `adds_bos` is what holds where the file has no `tokenizer.ggml.add_bos_token`.
    """

    steps: tuple[dict[str, Any], ...]
    normalizer: dict[str, Any] | None = None
    ignore_merges: bool = False
    adds_bos: bool = False

    def to_json(self) -> dict[str, Any]:
        """The `pre_tokenizer` object."""
        return {"type": "Sequence", "pretokenizers": list(self.steps)}


def _by_regex(*patterns: str, **options: Any) -> PreTokenizer:
    return PreTokenizer((*(_split(pattern) for pattern in patterns), _byte_level(use_regex=False)), **options)


_GPT2 = PreTokenizer((_byte_level(use_regex=True),))
_SINGLE_DIGITS = PreTokenizer((_DIGITS, _byte_level(use_regex=True)))
_LLAMA3 = _by_regex(_CL100K, ignore_merges=True, adds_bos=True)
_QWEN = _by_regex(_QWEN2, normalizer=_NFC)
_GPT4O = _by_regex(_O200K)

PRE_TOKENIZERS: dict[str, PreTokenizer] = {
    "gpt-2": _GPT2,
    "phi-2": _GPT2,
    "olmo": PreTokenizer(_GPT2.steps, normalizer=_NFC),
    "smollm": _SINGLE_DIGITS,
    "starcoder": _SINGLE_DIGITS,
    "refact": _SINGLE_DIGITS,
    "command-r": PreTokenizer(_SINGLE_DIGITS.steps, normalizer=_NFC),
    "llama3": _LLAMA3,
    "llama-v3": _LLAMA3,
    "llama-bpe": _LLAMA3,
    "dbrx": _by_regex(_CL100K),
    "smaug-bpe": _by_regex(_CL100K),
    "qwen2": _QWEN,
    "deepseek-r1-qwen": _QWEN,
    "qwen35": _by_regex(_QWEN35, normalizer=_NFC),
    "tekken": _by_regex(_TEKKEN, ignore_merges=True, adds_bos=True),
    "gpt-4o": _GPT4O,
    "llama4": _GPT4O,
    "deepseek-v3": _by_regex(*_DEEPSEEK_V3),
}
