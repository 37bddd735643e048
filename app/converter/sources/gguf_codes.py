"""The codes of ggml blocks as the native format packs them: uint8 [rows, row_bytes].

This NumPy is the definition; `kernels.cpu.conversion` gives the same bytes in a quarter of the time
where its library is at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from app.checkpoint.bits import pack_codes
from app.converter.sources.small_floats import DOUBLED_E2M1
from kernels.cpu import conversion
from kernels.cpu.loader import is_available

Bytes = npt.NDArray[np.uint8]
_SUPER = 256


def unpack_codes(ggml_type: str, blocks: Bytes, packed_bytes: int) -> Bytes:
    """Of blocks uint8 [rows, blocks, bytes], `packed_bytes` of packed codes for each block."""
    if is_available():
        return conversion.unpack_blocks(ggml_type, blocks, packed_bytes)
    return UNPACKERS[ggml_type](blocks)


def _rows(values: Bytes) -> Bytes:
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


def _signed(codes: Bytes, zero: int) -> Bytes:
    return codes - np.uint8(zero)


def _q4_0(blocks: Bytes) -> Bytes:
    # code - 8 in four bits of two's complement is the code with its top bit flipped.
    return _repack_nibbles(blocks[..., 2:], 16) ^ np.uint8(0x88)


def _q4_1(blocks: Bytes) -> Bytes:
    return _repack_nibbles(blocks[..., 4:], 16)


def _q5_0(blocks: Bytes) -> Bytes:
    return _signed(_five_bits(blocks, 2), 16)


def _q5_1(blocks: Bytes) -> Bytes:
    return _five_bits(blocks, 4)


def _five_bits(blocks: Bytes, start: int) -> Bytes:
    """Q5_0 and Q5_1: bit j of the u32 at byte `start` is bit 4 of code j; then sixteen nibbles."""
    low = _split_nibbles(blocks[..., start + 4 :], 16).reshape(*blocks.shape[:-1], 32)
    high = np.unpackbits(blocks[..., start : start + 4], axis=-1, bitorder="little")
    return _rows(low | high << np.uint8(4))


def _q8_0(blocks: Bytes) -> Bytes:
    return _rows(blocks[..., 2:])


def _q2_k(blocks: Bytes) -> Bytes:
    return pack_codes(_rows(_split_bits(blocks[..., 16:80], 32, 2)), 3)


def _q3_k(blocks: Bytes) -> Bytes:
    low = _split_bits(blocks[..., 32:96], 32, 2).reshape(*blocks.shape[:-1], 8, 32)
    # A set mask bit means that 4 is not subtracted: in three bits of two's complement, the third
    # bit of low + 4 * high - 4 is the mask's, inverted.
    high = _split_bits(~blocks[..., :32], 32, 1).reshape(*blocks.shape[:-1], 8, 32)
    return pack_codes(_rows(low | _shift_codes(high, 2)), 3)


def _q4_k(blocks: Bytes) -> Bytes:
    return _repack_nibbles(blocks[..., 16:], 32)


def _q5_k(blocks: Bytes) -> Bytes:
    low = _split_nibbles(blocks[..., 48:], 32).reshape(*blocks.shape[:-1], 8, 32)
    high = _split_bits(blocks[..., 16:48], 32, 1).reshape(*blocks.shape[:-1], 8, 32)
    return _rows(low | _shift_codes(high, 4))


def _q6_k(blocks: Bytes) -> Bytes:
    low = _split_nibbles(blocks[..., :128], 64).reshape(*blocks.shape[:-1], 8, 32)
    high = _split_bits(blocks[..., 128:192], 32, 2).reshape(*blocks.shape[:-1], 8, 32)
    return _rows(_signed(low | _shift_codes(high, 4), 32))


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


def _iq4_nl(blocks: Bytes) -> Bytes:
    return _look_up(_IQ4_TABLES, blocks[..., 2:])


def _iq4_xs(blocks: Bytes) -> Bytes:
    return _look_up(_IQ4_TABLES, blocks[..., 8:].reshape(len(blocks), -1, 16))


def _mxfp4(blocks: Bytes) -> Bytes:
    return _look_up(_MXFP4_TABLES, blocks[..., 1:])


def _tq1_0(blocks: Bytes) -> Bytes:
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
    return _ternary(digits)


def _tq2_0(blocks: Bytes) -> Bytes:
    return _ternary(_split_bits(blocks[..., :64], 32, 2))


def _ternary(digits: Bytes) -> Bytes:
    """0, 1, 2 mean -1, 0, 1."""
    return pack_codes(_rows(_signed(digits, 1)), 3)


UNPACKERS: dict[str, Callable[[Bytes], Bytes]] = {
    "Q4_0": _q4_0,
    "Q4_1": _q4_1,
    "Q5_0": _q5_0,
    "Q5_1": _q5_1,
    "Q8_0": _q8_0,
    "Q2_K": _q2_k,
    "Q3_K": _q3_k,
    "Q4_K": _q4_k,
    "Q5_K": _q5_k,
    "Q6_K": _q6_k,
    "IQ4_NL": _iq4_nl,
    "IQ4_XS": _iq4_xs,
    "MXFP4": _mxfp4,
    "TQ1_0": _tq1_0,
    "TQ2_0": _tq2_0,
}
