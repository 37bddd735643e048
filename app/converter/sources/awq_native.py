"""AWQ linears in native form: the same codes, scales and zeros, packed along the input.

Native decoding is (q - z) * s, or q * s + b for gemv_fast, in float32 from the stored float16
values; AutoAWQ's own kernels compute the same in float16. Zeros have no offset.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from app.checkpoint.bits import pack_codes
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
_TILE_ROWS, _TILE_COLUMNS = 4, 64


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
    packed = pack_codes(_gemv_fast_codes(arrays.qweight), 4)
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


def _gemv_fast_codes(qweight: npt.NDArray[np.int16]) -> Bytes:
    """Codes uint8 [out, in]: each 4 rows x 64 columns lie together, shuffled for the kernel."""
    nibbles = qweight.view(np.uint8)
    codes = np.stack((nibbles & 15, nibbles >> 4), axis=-1)
    tiles = np.take(codes.reshape(-1, _TILE_ROWS * _TILE_COLUMNS), _TILE_ORDER, axis=1)
    tiles = tiles.reshape(qweight.shape[0], -1, _TILE_ROWS, _TILE_COLUMNS)
    return tiles.transpose(0, 2, 1, 3).reshape(qweight.shape[0] * _TILE_ROWS, -1)


def _create_tile_order() -> npt.NDArray[np.intp]:
    """Where the code of each (row, column) of a tile stands among its 256 nibbles.

    The packer (AutoAWQ's `pack_intweight`) reorders every 32 columns twice: this, inverted.
    """
    columns = np.arange(_TILE_ROWS * _TILE_COLUMNS).reshape(-1, 4, 4, 2)
    pairs = columns.transpose(0, 2, 1, 3).reshape(-1, 4, 4, 2)
    return np.argsort(pairs.transpose(0, 1, 3, 2).reshape(-1))


_TILE_ORDER = _create_tile_order()
