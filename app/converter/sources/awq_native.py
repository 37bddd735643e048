"""AWQ linears in native form: the same codes, scales and zeros, packed along the input.

Native decoding is (q - z) * s, or q * s + b for gemv_fast, in float32 from the stored float16
values; AutoAWQ's own kernels compute the same in float16. Zeros have no offset.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from app.checkpoint.layout import check_linear
from app.checkpoint.schemes import Linear, QuantScheme, ScaleDtype, Scheme
from app.converter.sources.native_grid import to_native_groups
from app.converter.sources.quantized_linear import narrow_scales

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint32]

_LOW = np.uint32(0x0F0F0F0F)
# Nibble i of a gemm word is column 8 * word + _COLUMNS[i].
_COLUMNS = (0, 2, 4, 6, 1, 3, 5, 7)
_BLOCK_WORDS = 32  # gemm words a row that are transposed at once


class AwqArrays(NamedTuple):
    """A linear's arrays: scales float32, zeros integers (`qzeros`) or float32 (`scaled_zeros`)."""

    qweight: Array
    scales: Array
    zeros: Array


class _Rows(NamedTuple):
    """The same in native order: packed [out, in / 2], scales and zeros [out, G]."""

    packed: Bytes
    scales: Array
    zeros: Array


def create_native(
    name: str, layout: str, quant: QuantScheme, group_size: int, arrays: AwqArrays
) -> Linear:
    """The linear in the scheme `quant`; raises CheckpointError for values that are not finite."""
    packed, scales, zeros = _READERS[layout](arrays, group_size)
    shape = (packed.shape[0], 2 * packed.shape[1])
    field = "biases" if quant.scheme is Scheme.AFFINE else "zeros"
    groups = {"scales": scales, field: zeros}
    linear = Linear(
        shape,
        replace(quant, scale_dtype=ScaleDtype.FP32),
        packed=packed,
        **{name: to_native_groups(values, group_size, shape[1]) for name, values in groups.items()},
    )
    check_linear(name, linear)
    return narrow_scales(linear)


def _read_gemm(arrays: AwqArrays, group_size: int) -> _Rows:
    """qweight [in, out / 8], scales [G, out], qzeros [G, out / 8]."""
    zeros = _gemm_codes(arrays.zeros.view(np.uint32))
    return _Rows(_transpose_gemm(arrays.qweight.view(np.uint32)), arrays.scales.T, zeros.T)


def _read_gemv(arrays: AwqArrays, group_size: int) -> _Rows:
    """qweight [out, in / 8] in natural order, which is ours; scales and zeros end in padding."""
    packed = arrays.qweight.view(np.uint8)
    groups = 2 * packed.shape[1] // group_size
    nibbles = arrays.zeros.view(np.uint8)
    zeros = np.stack((nibbles & 15, nibbles >> 4), axis=-1).reshape(packed.shape[0], -1)
    return _Rows(packed, arrays.scales[:, :groups], zeros[:, :groups])


def _read_gemv_fast(arrays: AwqArrays, group_size: int) -> _Rows:
    """qweight [out / 4, in]; scales and scaled zeros (-s * z) [>= G, out]."""
    packed = _unshuffle_gemv_fast(arrays.qweight)
    groups = 2 * packed.shape[1] // group_size
    return _Rows(packed, arrays.scales[:groups].T, arrays.zeros[:groups].T)


_READERS = {"gemm": _read_gemm, "gemv": _read_gemv, "gemv_fast": _read_gemv_fast}


def _transpose_gemm(words: Words) -> Bytes:
    """uint32 [in, out / 8], packed along out -> uint8 [out, in / 2], packed along in."""
    in_features, num_words = words.shape
    packed = np.empty((num_words, 8, in_features // 2), np.uint8)
    for start in range(0, num_words, _BLOCK_WORDS):
        block = slice(start, start + _BLOCK_WORDS)
        even, odd = words[0::2, block], words[1::2, block]
        # Byte j holds the nibbles 2j, then 2j + 1, of two neighbouring inputs.
        pairs = (
            even & _LOW | (odd & _LOW) << np.uint32(4),
            (even >> np.uint32(4)) & _LOW | odd & ~_LOW,
        )
        for nibble, column in enumerate(_COLUMNS):
            columns = pairs[nibble % 2].view(np.uint8).reshape(in_features // 2, -1, 4)
            packed[block, column, :] = columns[:, :, nibble // 2].T
    return packed.reshape(num_words * 8, -1)


def _gemm_codes(words: Words) -> Bytes:
    codes = np.empty((*words.shape, 8), np.uint8)
    for nibble, column in enumerate(_COLUMNS):
        codes[..., column] = (words >> np.uint32(4 * nibble)) & np.uint32(15)
    return codes.reshape(words.shape[0], -1)


def _unshuffle_gemv_fast(qweight: npt.NDArray[np.int16]) -> Bytes:
    """int16 [out / 4, in] -> uint8 [out, in / 2].

    Four rows of 64 columns lie together as 4 x 2 x 4 words of 32 bits. Of the word k of 32 columns,
    nibble j is column 8 * j + 2 * k, nibble 4 + j the one after it (AutoAWQ's `pack_intweight`).
    """
    quarters, columns = qweight.shape
    words = qweight.view(np.uint32).reshape(quarters, columns // 64, 4, 2, 4)
    words = words.transpose(0, 2, 1, 3, 4)
    packed = np.empty((quarters, 4, columns // 64, 2, 4, 4), np.uint8)
    for j in range(4):
        low, high = words >> np.uint32(4 * j), words >> np.uint32(4 * j + 12)
        packed[..., j, :] = low & np.uint32(0x0F) | high & np.uint32(0xF0)
    return packed.reshape(4 * quarters, columns // 2)
