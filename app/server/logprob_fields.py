"""Probabilities of tokens as both endpoints write them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from app.core.events import TokenLogprob

# JSON has no infinity; OpenAI writes this for a probability of zero.
_LEAST_LOGPROB = -9999.0


def to_content_logprobs(entries: Iterable[TokenLogprob]) -> dict[str, Any]:
    """The object of chat completions: one entry for each token, with its bytes."""
    return {
        "content": [
            {**_to_entry(entry), "top_logprobs": [_to_entry(other) for other in entry.top]}
            for entry in entries
        ]
    }


def to_text_logprobs(entries: Iterable[TokenLogprob], offset: int) -> dict[str, Any]:
    """The object of completions: lists; `offset` characters of text come before the first token."""
    logprobs = list(entries)
    offsets = []
    for entry in logprobs:
        offsets.append(offset)
        offset += len(_to_text(entry))
    return {
        "tokens": [_to_text(entry) for entry in logprobs],
        "token_logprobs": [_bounded(entry.logprob) for entry in logprobs],
        "top_logprobs": [
            {_to_text(other): _bounded(other.logprob) for other in (*entry.top, entry)}
            for entry in logprobs
        ],
        "text_offset": offsets,
    }


def _to_entry(entry: TokenLogprob) -> dict[str, Any]:
    return {
        "token": _to_text(entry),
        "logprob": _bounded(entry.logprob),
        "bytes": list(entry.token),
    }


def _to_text(entry: TokenLogprob) -> str:
    """A part of a character as its bytes in escapes, as OpenAI's models write them."""
    return entry.token.decode("utf-8", errors="backslashreplace")


def _bounded(logprob: float) -> float:
    return max(logprob, _LEAST_LOGPROB)
