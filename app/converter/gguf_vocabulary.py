"""The `tokenizer.ggml.*` metadata of a GGUF, read once and checked.

Keys and token types are those of llama.cpp (`gguf-py/gguf/constants.py`, `src/llama-vocab.cpp`).
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from app.core.errors import InvalidSourceError

_PREFIX = "tokenizer.ggml."


class TokenType(IntEnum):
    """llama.cpp's token types."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


# Texts that end a reply in some model family, whatever the file's one eos id says (llama.cpp's
# list).
_END_OF_GENERATION_TEXTS = frozenset(
    (
        "<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<end_of_turn>",
        "<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]",
        "<|end_of_text|>", "<end_of_utterance>", "<eos>", "<turn|>", "<|tool_response>",
        "<\uff5cend\u2581of\u2581sentence\uff5c>", "[e~[", "<|flush|>", "<|calls|>",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class GgufVocabulary:
    """Tokens by id, with their types; `merges` for byte-level BPE, `scores` for SentencePiece."""

    metadata: Mapping[str, Any]
    file_name: str
    tokens: tuple[str, ...]
    types: tuple[int, ...]

    @classmethod
    def read(cls, metadata: Mapping[str, Any], file_name: str) -> GgufVocabulary:
        """Raises `InvalidSourceError` when tokens or types are missing, too few or ambiguous."""
        tokens = _read_strings(metadata, "tokens", file_name)
        types = _read_numbers(metadata, "token_type", file_name, len(tokens))
        named = tuple(text or f"[EMPTY_{token_id}]" for token_id, text in enumerate(tokens))
        if not named or len(set(named)) != len(named):
            raise InvalidSourceError(
                "{file_name}: its tokenizer has no tokens, or two tokens with the same text.",
                file_name=file_name,
            )
        return cls(metadata, file_name, named, tuple(int(number) for number in types))

    def merges(self) -> list[tuple[str, str]]:
        """Pairs in order of rank; each pair and what it makes is in the vocabulary."""
        known = set(self.tokens)
        pairs = [
            _parse_merge(text) for text in _read_strings(self.metadata, "merges", self.file_name)
        ]
        for left, right in pairs:
            if left not in known or right not in known or left + right not in known:
                pair = f"{reprlib.repr(left)} + {reprlib.repr(right)}"
                raise InvalidSourceError(
                    "{file_name}: the merge {pair} is not in its vocabulary.",
                    file_name=self.file_name,
                    pair=pair,
                )
        return pairs

    def scores(self) -> list[float]:
        """One SentencePiece score a token; the higher, the earlier a piece is merged."""
        return [
            float(n)
            for n in _read_numbers(self.metadata, "scores", self.file_name, len(self.tokens))
        ]

    def flag(self, name: str, default: bool) -> bool:
        """The boolean `tokenizer.ggml.<name>`."""
        value = self.metadata.get(_PREFIX + name, default)
        if not isinstance(value, (bool, np.bool_)):
            raise InvalidSourceError(
                "{file_name}: {prefix}{name} is not a boolean.",
                file_name=self.file_name,
                prefix=_PREFIX,
                name=name,
            )
        return bool(value)

    def special_id(self, name: str) -> int | None:
        """The id in `tokenizer.ggml.<name>_token_id`, None when absent or beyond the vocabulary."""
        value = self.metadata.get(f"{_PREFIX}{name}_token_id")
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
            return None
        return int(value) if 0 <= value < len(self.tokens) else None

    def special_ids(self) -> frozenset[int]:
        """Ids of the tokens that are markers: typed as control or unknown, or stop tokens."""
        mistyped = {TokenType.CONTROL, TokenType.UNKNOWN}
        return frozenset(
            token_id
            for token_id, (text, kind) in enumerate(zip(self.tokens, self.types, strict=True))
            if kind in mistyped or (kind == TokenType.USER_DEFINED and _is_stop_marker(text))
        )

    def eos_ids(self) -> list[int]:
        """Every id that ends a reply, the file's own eos first.

        A GGUF has one eos id, and often it is the base model's: the set is completed by the
        end-of-turn and end-of-message ids and by the special tokens whose text is known to end a
        turn.
        """
        named = [self.special_id(name) for name in ("eos", "eot", "eom")]
        by_text = [
            i for i in sorted(self.special_ids()) if self.tokens[i] in _END_OF_GENERATION_TEXTS
        ]
        ids = list(dict.fromkeys(i for i in [*named, *by_text] if i is not None))
        excluded = _not_ending({self.tokens[i] for i in ids})
        return [i for i in ids if self.tokens[i] not in excluded or i == named[0]]


def _is_stop_marker(text: str) -> bool:
    """Converters mistype `<|im_end|>` and its like; without bars it may be text, like `</s>`."""
    return text.startswith("<|") and text in _END_OF_GENERATION_TEXTS


def _not_ending(texts: set[str]) -> set[str]:
    """Harmony's `<|end|>` ends a message and not the reply; Gemma 4's `</s>` is no stop token."""
    excluded = set()
    if {"<|return|>", "<|call|>"} <= texts or {"<|calls|>", "<|flush|>"} <= texts:
        excluded.add("<|end|>")
    if "<|tool_response>" in texts:
        excluded.add("</s>")
    return excluded


def _parse_merge(text: str) -> tuple[str, str]:
    """`left right`; the search starts at 1 because a piece may itself begin with a space."""
    position = text.find(" ", 1)
    return (text, "") if position < 0 else (text[:position], text[position + 1 :])


def _read_array(metadata: Mapping[str, Any], name: str, file_name: str) -> Sequence[Any]:
    value = metadata.get(_PREFIX + name)
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return list(value.tolist())
    if not isinstance(value, (list, tuple)):
        raise InvalidSourceError(
            "{file_name}: its tokenizer has no {prefix}{name} list.",
            file_name=file_name,
            prefix=_PREFIX,
            name=name,
        )
    return value


def _read_strings(metadata: Mapping[str, Any], name: str, file_name: str) -> Sequence[str]:
    values = _read_array(metadata, name, file_name)
    if not all(isinstance(value, str) for value in values):
        raise InvalidSourceError(
            "{file_name}: {prefix}{name} holds something that is not text.",
            file_name=file_name,
            prefix=_PREFIX,
            name=name,
        )
    return values


def _read_numbers(
    metadata: Mapping[str, Any], name: str, file_name: str, count: int
) -> Sequence[float]:
    values = _read_array(metadata, name, file_name)
    if len(values) < count or not all(map(_is_finite_number, values)):
        raise InvalidSourceError(
            "{file_name}: {prefix}{name} does not hold one number for each of {count} tokens.",
            file_name=file_name,
            prefix=_PREFIX,
            name=name,
            count=count,
        )
    return values[:count]


def _is_finite_number(value: object) -> bool:
    return isinstance(value, (int, float, np.number)) and math.isfinite(value)
