"""Packs codes of 3, 4 or 8 bits into rows of a little-endian bitstream, and back."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Codes = npt.NDArray[Any]  # uint8, or int8 for two's-complement codes

_CODES_PER_UNIT = {3: 8, 4: 2, 8: 1}  # the fewest codes that fill whole bytes


def pack_codes(codes: Codes, bits: int) -> Bytes:
    """Packs the low `bits` of codes uint8 | int8 [out, in]: uint8 [out, ceil(in * bits / 8)]."""
    row_bytes = -(-codes.shape[1] * bits // 8)
    unsigned = _pad_columns(codes.view(np.uint8), _CODES_PER_UNIT[bits])
    if bits == 8:
        return np.ascontiguousarray(unsigned)
    packed = _pack4(unsigned) if bits == 4 else _pack3(unsigned)
    return np.ascontiguousarray(packed[:, :row_bytes])


def unpack_codes(packed: Bytes, bits: int, in_features: int, *, signed: bool) -> Codes:
    """Codes [out, in_features] of uint8 [out, row_bytes]: int8 when `signed`, else uint8."""
    dtype = np.int8 if signed else np.uint8
    if bits == 8:
        return packed[:, :in_features].view(dtype)
    unpack = _unpack4 if bits == 4 else _unpack3
    return unpack(packed, signed)[:, :in_features].view(dtype)


def _pad_columns(codes: Bytes, multiple: int) -> Bytes:
    missing = -codes.shape[1] % multiple
    return np.pad(codes, ((0, 0), (0, missing))) if missing else codes


def _pack4(codes: Bytes) -> Bytes:
    low, high = codes[:, 0::2], codes[:, 1::2]
    packed: Bytes = (low & np.uint8(15)) | (high << np.uint8(4))
    return packed


def _pack3(codes: Bytes) -> Bytes:
    """Eight codes a word: neighbours move together in three steps, until 24 bits are left."""
    rows, columns = codes.shape
    words = np.ascontiguousarray(codes).view("<u8") & np.uint64(0x0707070707070707)
    words |= words >> np.uint64(5)
    words &= np.uint64(0x003F003F003F003F)
    words |= words >> np.uint64(10)
    words &= np.uint64(0x00000FFF00000FFF)
    words |= words >> np.uint64(20)
    units = words.astype("<u4")
    if columns % 32:
        return units.view(np.uint8).reshape(rows, columns // 8, 4)[..., :3].reshape(rows, -1)
    return _join_24_bits(units.reshape(rows, -1, 4)).view(np.uint8).reshape(rows, -1)


def _join_24_bits(units: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """The low 24 bits of every four numbers in three: [..., 4] -> [..., 3]."""
    first, second, third, fourth = (units[..., index] for index in range(4))
    joined = np.empty((*units.shape[:-1], 3), "<u4")
    joined[..., 0] = (first & 0xFFFFFF) | second << 24
    joined[..., 1] = (second >> 8 & 0xFFFF) | third << 16
    joined[..., 2] = (third >> 16 & 0xFF) | fourth << 8
    return joined


def _unpack4(packed: Bytes, signed: bool) -> Bytes:
    table = _code_table(4, 2, signed).view(np.uint16)[:, 0]
    codes: Bytes = np.take(table, packed).view(np.uint8)
    return codes


def _unpack3(packed: Bytes, signed: bool) -> Bytes:
    table = _code_table(3, 4, signed).view(np.uint32)[:, 0]
    rows = packed.shape[0]
    b = _pad_columns(packed, 3).reshape(rows, -1, 3).astype(np.uint16)
    halves = np.empty((rows, b.shape[1], 2), np.uint16)  # 12 bits, four codes each
    halves[..., 0] = b[..., 0] | (b[..., 1] & 15) << 8
    halves[..., 1] = b[..., 1] >> 4 | b[..., 2] << 4
    codes: Bytes = np.take(table, halves.reshape(rows, -1)).view(np.uint8)
    return codes


@cache
def _code_table(bits: int, count: int, signed: bool) -> Bytes:
    """The `count` codes in every value of a field: uint8 [2 ** (bits * count), count].

    One lookup replaces a shift, a mask and a strided store per code.
    """
    fields = np.arange(1 << bits * count, dtype=np.uint32)[:, None]
    codes = (fields >> (np.arange(count, dtype=np.uint32) * bits)) & ((1 << bits) - 1)
    if signed:
        half = 1 << (bits - 1)
        return ((codes ^ half).astype(np.int16) - half).astype(np.int8).view(np.uint8)
    return codes.astype(np.uint8)
