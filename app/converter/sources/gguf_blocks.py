"""ggml blocks -> arrays of the native schemes, codes and scales as the source has them.

Block layouts: ggml-org/llama.cpp:ggml/src/ggml-common.h and dequantize_row_* in ggml-quants.c;
gguf.quants decodes the same blocks in NumPy and is the oracle of the tests. An extractor takes
blocks uint8 [rows, blocks, bytes].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from app.checkpoint.bits import pack_codes
from app.checkpoint.schemes import QuantScheme, ScaleDtype, Scheme
from app.converter.sources.small_floats import DOUBLED_E2M1

Bytes = npt.NDArray[np.uint8]
Arrays = dict[str, npt.NDArray[Any]]  # by the field names of app.checkpoint.schemes.Linear
_SUPER = 256


@dataclass(frozen=True, slots=True)
class NativeType:
    """A ggml type that a native scheme holds bit for bit, and how its blocks are taken apart."""

    quant: QuantScheme
    extract: Callable[[Bytes], Arrays]


def _float16(blocks: Bytes, start: int) -> npt.NDArray[np.float16]:
    """The fp16 at byte `start` of each block: [rows, blocks]."""
    return np.ascontiguousarray(blocks[..., start : start + 2]).view(np.float16)[..., 0]


def _rows(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """[rows, blocks, ...] -> [rows, everything]."""
    return values.reshape(values.shape[0], -1)


def _split_nibbles(qs: Bytes, width: int) -> Bytes:
    """Low, then high nibbles of every `width` bytes: [..., n] -> [..., n / width, 2, width]."""
    return _split_bits(qs, width, 4)


def _split_bits(qs: Bytes, width: int, bits: int) -> Bytes:
    """The lowest `bits`, then the next: [..., n] -> [..., n / width, 8 / bits, width].

    Shifted as one long array of words each: NumPy has no fast shift of bytes, and short inner
    dimensions would cost it three times as much.
    """
    words = np.ascontiguousarray(qs).view(np.uint32)
    grouped = (*qs.shape[:-1], qs.shape[-1] // width, width)
    fields = np.empty((*grouped[:-1], 8 // bits, width), np.uint8)
    mask = np.uint32(((1 << bits) - 1) * 0x01010101)
    for index in range(8 // bits):
        shifted = (words >> np.uint32(index * bits)) & mask
        fields[..., index, :] = shifted.view(np.uint8).reshape(grouped)
    return fields


def _shift_codes(codes: Bytes, bits: int) -> Bytes:
    """Codes of less than 8 - `bits` bits, shifted up in place, as words."""
    words = codes.view(np.uint32)
    words <<= np.uint32(bits)
    return codes


def _repack_nibbles(qs: Bytes, width: int) -> Bytes:
    """The codes of `_split_nibbles` packed two a byte, [rows, bytes], without unpacking them.

    Two neighbouring source bytes hold, in their low nibbles, the two codes of one packed byte; so
    words of two bytes are shifted together instead of single codes.
    """
    words = np.ascontiguousarray(qs).view(np.uint16)
    low = (words & 0x0F) | ((words >> 4) & 0xF0)
    high = ((words >> 4) & 0x0F) | ((words >> 8) & 0xF0)
    grouped = (*words.shape[:-1], -1, width // 2)
    packed = np.stack([low.reshape(grouped), high.reshape(grouped)], axis=-2)
    return _rows(packed.astype(np.uint8))


def _fifth_bits(blocks: Bytes, start: int) -> Bytes:
    """Q5_0 and Q5_1: bit j of a u32 is bit 4 of code j; gives 0 or 16, [rows, blocks, 32]."""
    return np.unpackbits(blocks[..., start : start + 4], axis=-1, bitorder="little") << np.uint8(4)


def _signed(codes: Bytes, zero: int) -> npt.NDArray[np.int8]:
    return codes.view(np.int8) - np.int8(zero)


def _q4_0(blocks: Bytes) -> Arrays:
    # code - 8 in four bits of two's complement is the code with its top bit flipped.
    return {
        "packed": _repack_nibbles(blocks[..., 2:], 16) ^ np.uint8(0x88),
        "scales": _float16(blocks, 0),
    }


def _q4_1(blocks: Bytes) -> Arrays:
    packed = _repack_nibbles(blocks[..., 4:], 16)
    return {"packed": packed, "scales": _float16(blocks, 0), "biases": _float16(blocks, 2)}


def _q5_0(blocks: Bytes) -> Arrays:
    low = _split_nibbles(blocks[..., 6:], 16).reshape(*blocks.shape[:-1], 32)
    codes = _signed(low | _fifth_bits(blocks, 2), 16)
    return {"packed": _rows(codes).view(np.uint8), "scales": _float16(blocks, 0)}


def _q5_1(blocks: Bytes) -> Arrays:
    low = _split_nibbles(blocks[..., 8:], 16).reshape(*blocks.shape[:-1], 32)
    codes = low | _fifth_bits(blocks, 4)
    return {"packed": _rows(codes), "scales": _float16(blocks, 0), "biases": _float16(blocks, 2)}


def _q8_0(blocks: Bytes) -> Arrays:
    return {"packed": _rows(blocks[..., 2:]), "scales": _float16(blocks, 0)}


def _q2_k(blocks: Bytes) -> Arrays:
    codes = _split_bits(blocks[..., 16:80], 32, 2)
    return {
        "packed": pack_codes(_rows(codes), 3),
        "scales": _rows(blocks[..., :16] & np.uint8(15)),
        "biases": _rows(blocks[..., :16] >> np.uint8(4)),
        "super_scales": _float16(blocks, 80),
        "super_biases": -_float16(blocks, 82),
    }


def _q3_k(blocks: Bytes) -> Arrays:
    low = _split_bits(blocks[..., 32:96], 32, 2).reshape(*blocks.shape[:-1], 8, 32)
    # A set mask bit means that 4 is not subtracted: in three bits of two's complement, the third
    # bit of low + 4 * high - 4 is the mask's, inverted.
    high = _split_bits(~blocks[..., :32], 32, 1).reshape(*blocks.shape[:-1], 8, 32)
    codes = np.bitwise_or(low, _shift_codes(high, 2), out=high)
    return {
        "packed": pack_codes(_rows(codes), 3),
        "scales": _signed(_rows(_q3_k_scales(blocks[..., 96:108])), 32),
        "super_scales": _float16(blocks, 108),
    }


def _q3_k_scales(packed: Bytes) -> Bytes:
    """Sixteen 6-bit scales: low nibbles in bytes 0-7, high pairs of bits in bytes 8-11.

    Four at a time, as one word.
    """
    words = np.ascontiguousarray(packed).view(np.uint32)
    scales = np.empty((*words.shape[:-1], 4), np.uint32)
    for index in range(4):
        nibbles = (words[..., index % 2] >> np.uint32(index // 2 * 4)) & np.uint32(0x0F0F0F0F)
        pairs = (words[..., 2] >> np.uint32(2 * index)) & np.uint32(0x03030303)
        scales[..., index] = nibbles | pairs << np.uint32(4)
    return scales.view(np.uint8)


def _q4_k_scales(blocks: Bytes) -> Arrays:
    """Q4_K and Q5_K: d, dmin, then eight 6-bit scales and eight 6-bit minima in twelve bytes."""
    first, second, third = (blocks[..., start : start + 4] for start in (4, 8, 12))
    scales = [first & 63, (third & 15) | ((first >> 2) & 0x30)]
    minima = [second & 63, (third >> 4) | ((second >> 2) & 0x30)]
    return {
        "scales": _rows(np.concatenate(scales, axis=-1)),
        "biases": _rows(np.concatenate(minima, axis=-1)),
        "super_scales": _float16(blocks, 0),
        "super_biases": -_float16(blocks, 2),
    }


def _q4_k(blocks: Bytes) -> Arrays:
    return {"packed": _repack_nibbles(blocks[..., 16:], 32)} | _q4_k_scales(blocks)


def _q5_k(blocks: Bytes) -> Arrays:
    low = _split_nibbles(blocks[..., 48:], 32).reshape(*blocks.shape[:-1], 8, 32)
    high = _split_bits(blocks[..., 16:48], 32, 1).reshape(*blocks.shape[:-1], 8, 32)
    return {"packed": _rows(low | _shift_codes(high, 4))} | _q4_k_scales(blocks)


def _q6_k(blocks: Bytes) -> Arrays:
    low = _split_nibbles(blocks[..., :128], 64).reshape(*blocks.shape[:-1], 8, 32)
    high = _split_bits(blocks[..., 128:192], 32, 2).reshape(*blocks.shape[:-1], 8, 32)
    codes = _signed(low | _shift_codes(high, 4), 32)
    return {
        "packed": _rows(codes).view(np.uint8),
        "scales": _rows(np.ascontiguousarray(blocks[..., 192:208]).view(np.int8)),
        "super_scales": _float16(blocks, 208),
    }


_IQ4_VALUES = np.array(
    [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.int8
)


def _nibble_tables(values: npt.NDArray[np.int8]) -> tuple[bytes, bytes]:
    """What the low and the high nibble of each byte mean."""
    codes = np.arange(256)
    return values[codes & 15].tobytes(), values[codes >> 4].tobytes()


_IQ4_TABLES, _MXFP4_TABLES = _nibble_tables(_IQ4_VALUES), _nibble_tables(DOUBLED_E2M1)


def _look_up(tables: Sequence[bytes], qs: Bytes) -> Bytes:
    """What each table says of every byte, by block: [rows, blocks, n] -> [rows, tables * n].

    `bytes.translate` takes half a nanosecond a byte, NumPy's indexing three.
    """
    whole = qs.tobytes()
    values = np.empty((*qs.shape[:-1], len(tables), qs.shape[-1]), np.uint8)
    for index, table in enumerate(tables):
        found = np.frombuffer(whole.translate(table), np.uint8)
        values[..., index, :] = found.reshape(qs.shape)
    return _rows(values)


def _iq4_nl(blocks: Bytes) -> Arrays:
    return {"packed": _look_up(_IQ4_TABLES, blocks[..., 2:]), "scales": _float16(blocks, 0)}


def _iq4_xs(blocks: Bytes) -> Arrays:
    high = np.ascontiguousarray(blocks[..., 2:4]).view(np.uint16) >> np.arange(
        0, 16, 2, dtype=np.uint16
    )
    low = _split_nibbles_in_place(blocks[..., 4:8])
    halves = blocks[..., 8:].reshape(len(blocks), -1, 16)
    return {
        "packed": _look_up(_IQ4_TABLES, halves),
        "scales": _signed(_rows(low | ((high.astype(np.uint8) & 3) << np.uint8(4))), 32),
        "super_scales": _float16(blocks, 0),
    }


def _split_nibbles_in_place(packed: Bytes) -> Bytes:
    """Low nibble, high nibble of each byte in turn: [..., n] -> [..., 2n]."""
    return _split_nibbles(packed, 1).reshape(*packed.shape[:-1], -1)


# 2 ** (e - 128): half of the e8m0 scale, because the table of values is doubled.
_MXFP4_SCALES = np.ldexp(np.float32(1), np.arange(256) - 128)


def _mxfp4(blocks: Bytes) -> Arrays:
    return {
        "packed": _look_up(_MXFP4_TABLES, blocks[..., 1:]),
        "scales": _MXFP4_SCALES[blocks[..., 0]],
    }


def _ternary(digits: Bytes, scales: npt.NDArray[np.float16]) -> Arrays:
    """-1, 0 or 1 times one fp16 per 256 columns, stored once for each of two groups of 128."""
    return {
        "packed": pack_codes(_signed(digits, 1), 3),
        "scales": np.repeat(scales, 2, axis=1),
    }


def _tq1_0(blocks: Bytes) -> Arrays:
    """Five base-3 digits a byte (the last four bytes hold four), as the fraction byte / 256."""
    fractions = np.ascontiguousarray(blocks[..., :52])
    digits = np.empty((*blocks.shape[:-1], _SUPER), np.uint8)
    for place in range(5):
        # The digit is the whole part of 3 * fraction: 86 / 256 and 171 / 256 begin the next one.
        found = (fractions > 85).view(np.uint8) + (fractions > 170).view(np.uint8)
        digits[..., 32 * place : 32 * place + 32] = found[..., :32]
        digits[..., 160 + 16 * place : 176 + 16 * place] = found[..., 32:48]
        if place < 4:
            digits[..., 240 + 4 * place : 244 + 4 * place] = found[..., 48:]
        fractions *= np.uint8(3)
    return _ternary(_rows(digits), _float16(blocks, 52))


def _tq2_0(blocks: Bytes) -> Arrays:
    return _ternary(_rows(_split_bits(blocks[..., :64], 32, 2)), _float16(blocks, 64))


def _type(
    bits: int, group: int, scheme: Scheme, dtype: ScaleDtype, extract: Callable[[Bytes], Arrays]
) -> NativeType:
    return NativeType(QuantScheme(bits, group, scheme, dtype), extract)


NATIVE_TYPES = {
    "Q4_0": _type(4, 32, Scheme.SYM, ScaleDtype.FP16, _q4_0),
    "Q4_1": _type(4, 32, Scheme.AFFINE, ScaleDtype.FP16, _q4_1),
    "Q5_0": _type(8, 32, Scheme.SYM, ScaleDtype.FP16, _q5_0),
    "Q5_1": _type(8, 32, Scheme.AFFINE, ScaleDtype.FP16, _q5_1),
    "Q8_0": _type(8, 32, Scheme.SYM, ScaleDtype.FP16, _q8_0),
    "Q2_K": _type(3, 16, Scheme.AFFINE, ScaleDtype.TWO_LEVEL, _q2_k),
    "Q3_K": _type(3, 16, Scheme.SYM, ScaleDtype.TWO_LEVEL, _q3_k),
    "Q4_K": _type(4, 32, Scheme.AFFINE, ScaleDtype.TWO_LEVEL, _q4_k),
    "Q5_K": _type(8, 32, Scheme.AFFINE, ScaleDtype.TWO_LEVEL, _q5_k),
    "Q6_K": _type(8, 16, Scheme.SYM, ScaleDtype.TWO_LEVEL, _q6_k),
    "IQ4_NL": _type(8, 32, Scheme.SYM, ScaleDtype.FP16, _iq4_nl),
    "IQ4_XS": _type(8, 32, Scheme.SYM, ScaleDtype.TWO_LEVEL, _iq4_xs),
    "MXFP4": _type(8, 32, Scheme.SYM, ScaleDtype.FP32, _mxfp4),
    "TQ1_0": _type(3, 128, Scheme.SYM, ScaleDtype.FP16, _tq1_0),
    "TQ2_0": _type(3, 128, Scheme.SYM, ScaleDtype.FP16, _tq2_0),
}
