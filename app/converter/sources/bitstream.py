"""Codes packed into little-endian words: a dense bitstream, or whole codes a word with padding."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint32]

_UNIT = 32  # codes in `bits` words: where a dense bitstream is back at a word's first bit


def dense_width(count: int, bits: int) -> int:
    """Words of 32 bits that `count` codes take without padding."""
    return -(-count * bits // 32)


def padded_width(count: int, bits: int) -> int:
    """Words of 32 bits that `count` codes take when none straddles two words."""
    return -(-count // (32 // bits))


def unpack_dense(words: Words, bits: int, count: int) -> Codes:
    """Codes uint8 [rows, count]: code k is bits [k * bits, (k + 1) * bits) of its row."""
    if 8 % bits == 0:
        packed = np.ascontiguousarray(words).view(np.uint8)
        return np.take(_byte_table(bits), packed, mode="clip").view(np.uint8)[:, :count]
    rows = words.shape[0]
    units = -(-count // _UNIT)
    missing = units * bits - words.shape[1]
    grid = np.pad(words, ((0, 0), (0, missing))).reshape(rows, units, bits)
    codes = np.empty((rows, units, _UNIT), np.uint8)
    for k in range(_UNIT):
        word, shift = divmod(k * bits, 32)
        value = grid[:, :, word] >> np.uint32(shift)
        if shift + bits > 32:
            value |= grid[:, :, word + 1] << np.uint32(32 - shift)
        codes[:, :, k] = value & np.uint32((1 << bits) - 1)
    return codes.reshape(rows, -1)[:, :count]


def unpack_padded(words: Words, bits: int, count: int) -> Codes:
    """Codes uint8 [rows, count]: 32 // bits codes in a word, its highest bits unused."""
    per_word = 32 // bits
    codes = np.empty((*words.shape, per_word), np.uint8)
    for k in range(per_word):
        codes[:, :, k] = (words >> np.uint32(k * bits)) & np.uint32((1 << bits) - 1)
    return codes.reshape(words.shape[0], -1)[:, :count]


def nibble_floats(packed: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """float32 [rows, 2 * bytes]: both nibbles of each byte, the low one first, in one lookup."""
    return np.take(_NIBBLES, packed, mode="clip").view(np.float32)


def unpack_floats(words: Words, bits: int, count: int) -> npt.NDArray[np.float32]:
    """As `unpack_dense`, in float32."""
    if bits == 4:
        return nibble_floats(np.ascontiguousarray(words).view(np.uint8))[:, :count]
    return unpack_dense(words, bits, count).astype(np.float32)


@cache
def _byte_table(bits: int) -> npt.NDArray[np.unsignedinteger[Any]]:
    """All codes of every byte as one item: a lookup replaces a shift and a store for each."""
    shifts = np.arange(0, 8, bits)
    codes = ((_BYTES[:, None] >> shifts) & ((1 << bits) - 1)).astype(np.uint8)
    return codes.view(f"u{8 // bits}")[:, 0]


_BYTES = np.arange(256)
_NIBBLES = np.stack((_BYTES & 15, _BYTES >> 4), axis=1).astype(np.float32).view(np.uint64)[:, 0]
