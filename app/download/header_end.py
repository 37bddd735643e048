"""Where the header of a remote GGUF file ends, found by a few small reads.

A vocabulary and its merges take megabytes, and what interests stands behind them: writers put the
chat template after the tokens (ggml-org/ggml:docs/gguf.md leaves the order open). Strings, token
types and scores look unlike the weights that follow, so the border is found by halving.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

ReadRange = Callable[[int, int], bytes]

_SAMPLE_BYTES = 4096
_RESOLUTION_BYTES = 64 << 10
# No header that was seen is larger; a file's weights begin before.
_LAST_BYTES = 64 << 20
# What stands behind the vocabulary: the template, a few numbers, the list of tensors.
_TAIL_BYTES = 320 << 10
_KEY = b"tokenizer.chat_template"
_STRING_TYPE = (8).to_bytes(4, "little")
# A string's length, 64 bits of which seven bytes are zero.
_LENGTH = re.compile(rb"[\x01-\xff]\0{7}")
_MAX_TOKEN_TYPE = 6


def find_template(read: ReadRange, num_known: int, total_bytes: int) -> bool:
    """Whether a chat template stands behind the first `num_known` bytes of the header.

    False where none was seen: that is no proof. Reads less than half a megabyte.
    """
    end = _find_end(read, num_known, total_bytes)
    tail = read(max(num_known, end - _TAIL_BYTES), end)
    return holds_template(tail)


def holds_template(part: bytes) -> bool:
    """Whether the key of a template that is not empty stands in these bytes."""
    at = part.find(_KEY)
    value = part[at + len(_KEY) :][:12]
    return at >= 0 and value[:4] == _STRING_TYPE and any(value[4:])


def _find_end(read: ReadRange, low: int, total_bytes: int) -> int:
    high = min(total_bytes, _LAST_BYTES)
    while high - low > _RESOLUTION_BYTES:
        middle = (low + high) // 2
        if _is_header(read(middle, min(middle + _SAMPLE_BYTES, total_bytes))):
            low = middle
        else:
            high = middle
    return high


def _is_header(sample: bytes) -> bool:
    if len(_LENGTH.findall(sample)) > len(sample) // 128:
        return True  # strings
    return any(_are_numbers(sample[shift:]) for shift in range(4))


def _are_numbers(sample: bytes) -> bool:
    """Token types, or the scores of a SentencePiece vocabulary, which are whole numbers."""
    sample = sample[: len(sample) // 4 * 4]
    words = np.frombuffer(sample, "<u4")
    if words.size == 0 or not words.any():
        return False
    if bool(np.all((words > 0) & (words <= _MAX_TOKEN_TYPE))):
        return True
    scores = np.frombuffer(sample, "<f4")
    is_sane = np.isfinite(scores) & (np.abs(scores) < 1e7)
    return bool(np.all(is_sane) and np.all(scores == np.rint(scores)) and np.any(scores))
