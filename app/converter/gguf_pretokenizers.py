"""How each `tokenizer.ggml.pre` kind cuts text before byte-pair merging.

A GGUF names its split, it does not hold it. Each entry is the `normalizer` and `pre_tokenizer` of
the `tokenizer.json` that the model's own repository publishes, in the words of Hugging Face's
`tokenizers`; which kinds share one is the grouping of llama.cpp's `src/llama-vocab.cpp`. Kinds
known from there alone (exaone4, gigachat, a.x-4.0, mellum, trillion, granite-docling, minerva-7b,
midm-2.0, megrez, kormo, kanana2) split as it does and, like it, compose no characters. A kind that
is not in the table is refused: a wrong split still gives text, only of a model that has become a
little more stupid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"

_WORD = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_PUNCTUATION = r" ?[^\s\p{L}\p{N}]+[\r\n]*"
_CL100K = rf"{_CONTRACTIONS}|{_WORD}|\p{{N}}{{1,3}}|{_PUNCTUATION}|{_SPACES}"
_SEED = rf"{_CONTRACTIONS}|{_WORD}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+|{_SPACES}"
_QWEN2 = rf"{_CONTRACTIONS}|{_WORD}|\p{{N}}|{_PUNCTUATION}|{_SPACES}"
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
_O200K = (
    rf"{_TITLE_WORD}{_CONTRACTIONS}?|{_UPPER_WORD}{_CONTRACTIONS}?"
    rf"|\p{{N}}{{1,3}}|{_SYMBOLS}|{_SPACES}"
)

# As GPT-4o's, but that Chinese characters are words of their own (tokenization_kimi.py).
_NO_HAN = r"&&[^\p{Han}]"
_KIMI = (
    r"[\p{Han}]+"
    rf"|[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}{_NO_HAN}]*[{_LOWER}{_NO_HAN}]+{_CONTRACTIONS}?"
    rf"|[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}{_NO_HAN}]+[{_LOWER}{_NO_HAN}]*{_CONTRACTIONS}?"
    rf"|\p{{N}}{{1,3}}|{_PUNCTUATION}|{_SPACES}"
)

_DEEPSEEK_V3 = (
    r"\p{N}{1,3}",
    r"[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_SPACES}",
)

# Every script from Samaritan on, and Hangul: DeepSeek's first tokenizers write it so, with the
# overlap.
_DEEPSEEK_CJK = r"[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
_DEEPSEEK_CODER = (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", _DEEPSEEK_CJK)
# The letters that have case, as of the Unicode version of the time.
_CASED_LETTERS = (
    r"A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373"
    r"\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481"
    r"\u048a-\u052f\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b"
    r"\u1d6b-\u1d77\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b"
    r"\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb"
    r"\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128"
    r"\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4"
    r"\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf"
    r"\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a"
    r"\x{10400}-\x{1044f}\x{104b0}-\x{104d3}\x{104d8}-\x{104fb}\x{10c80}-\x{10cb2}\x{10cc0}-\x{10cf2}"
    r"\x{118a0}-\x{118df}\x{1e900}-\x{1e943}"
)
_DEEPSEEK_LLM = (
    r"[\r\n]",
    rf"\s?[{_CASED_LETTERS}]+",
    r"\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+",
    r"\s+$",
    _DEEPSEEK_CJK,
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

    `ignore_merges` takes a word whole when the vocabulary has it, whatever the merges would make of
    it; `adds_bos` is what holds where the file has no `tokenizer.ggml.add_bos_token`.
    """

    steps: tuple[dict[str, Any], ...]
    normalizer: dict[str, Any] | None = None
    ignore_merges: bool = False
    adds_bos: bool = False

    def to_json(self) -> dict[str, Any]:
        """The `pre_tokenizer` object."""
        return {"type": "Sequence", "pretokenizers": list(self.steps)}


def _by_regex(*patterns: str, single_digits: bool = False, **options: Any) -> PreTokenizer:
    steps = [_split(pattern) for pattern in patterns] + [_DIGITS] * single_digits
    return PreTokenizer((*steps, _byte_level(use_regex=False)), **options)


_GPT2 = PreTokenizer((_byte_level(use_regex=True),))
_SINGLE_DIGITS = PreTokenizer((_DIGITS, _byte_level(use_regex=True)))
_LLAMA3 = _by_regex(_CL100K, ignore_merges=True, adds_bos=True)
_QWEN = _by_regex(_QWEN2, normalizer=_NFC)

PRE_TOKENIZERS: dict[str, PreTokenizer] = {
    "gpt-2": _GPT2,
    "phi-2": _GPT2,
    "exaone4": _GPT2,
    "gigachat": _GPT2,
    "a.x-4.0": _GPT2,
    "mellum": _GPT2,
    "trillion": _GPT2,
    "granite-docling": _GPT2,
    "olmo": PreTokenizer(_GPT2.steps, normalizer=_NFC),
    "smollm": _SINGLE_DIGITS,
    "starcoder": _SINGLE_DIGITS,
    "refact": _SINGLE_DIGITS,
    "minerva-7b": _SINGLE_DIGITS,
    "command-r": PreTokenizer(_SINGLE_DIGITS.steps, normalizer=_NFC),
    "llama3": _LLAMA3,
    "llama-v3": _LLAMA3,
    "llama-bpe": _LLAMA3,
    "falcon3": _LLAMA3,
    "midm-2.0": _LLAMA3,
    "dbrx": _by_regex(_CL100K),
    "smaug-bpe": _by_regex(_CL100K),
    "chatglm-bpe": _by_regex(_CL100K),
    "glm4": _by_regex(_CL100K),
    "seed-coder": _by_regex(_SEED),
    "qwen2": _QWEN,
    "deepseek-r1-qwen": _QWEN,
    "megrez": _by_regex(_QWEN2),
    "kormo": _by_regex(_QWEN2),
    "qwen35": _by_regex(_QWEN35, normalizer=_NFC),
    "tekken": _by_regex(_TEKKEN, ignore_merges=True, adds_bos=True),
    "gpt-4o": _by_regex(_O200K),
    "kanana2": _by_regex(_O200K),
    "kimi-k2": _by_regex(_KIMI, ignore_merges=True),
    "deepseek-llm": _by_regex(*_DEEPSEEK_LLM, single_digits=True),
    "deepseek-coder": _by_regex(*_DEEPSEEK_CODER, single_digits=True),
    "deepseek-v3": _by_regex(*_DEEPSEEK_V3),
}
