"""AWQ linears decoded by the formats' formulas: what `awq_native` is held to.

gemm, gemv: (q - z) * s; gemv_fast: q * s + scaled zero; float32 throughout (AutoAWQ:
awq/utils/packing_utils.py `dequantize_gemm`, which rounds to float16 at the end).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from app.converter.sources.awq_native import AwqArrays
from app.converter.sources.bitstream import nibble_floats

Floats = npt.NDArray[np.float32]

# Nibble i of a gemm word is column 8 * word + _GEMM_COLUMNS[i].
_GEMM_COLUMNS = [0, 2, 4, 6, 1, 3, 5, 7]


def decode_rows(layout: str, group_size: int, arrays: AwqArrays, rows: slice) -> Floats:
    """float32 [n, in]."""
    return _DECODERS[layout](arrays, group_size, rows)


def _decode_gemm(arrays: AwqArrays, group_size: int, rows: slice) -> Floats:
    """Words hold eight rows of W: all of those that hold the wanted ones, cut to them."""
    in_features = arrays.qweight.shape[0]
    block = slice(rows.start // 8, -(-rows.stop // 8))
    outputs = slice(8 * block.start, 8 * block.stop)
    scales = arrays.scales[:, outputs].reshape(-1, block.stop - block.start, 8)
    codes = _nibbles(arrays.qweight[:, block]).reshape(-1, group_size, outputs.stop - outputs.start)
    codes -= _nibbles(arrays.zeros[:, block])[:, None]
    codes *= scales[:, :, _GEMM_COLUMNS].reshape(len(scales), 1, -1)
    weight = np.empty((block.stop - block.start, 8, in_features), np.float32)
    weight[:, _GEMM_COLUMNS] = codes.reshape(in_features, -1, 8).transpose(1, 2, 0)
    whole = weight.reshape(-1, in_features)
    return whole[rows.start - outputs.start : rows.stop - outputs.start]


def _decode_gemv(arrays: AwqArrays, group_size: int, rows: slice) -> Floats:
    in_features = 8 * arrays.qweight.shape[1]
    groups = in_features // group_size
    weight = _nibbles(arrays.qweight[rows]).reshape(-1, groups, group_size)
    weight -= _nibbles(arrays.zeros[rows])[:, :groups, None]
    weight *= arrays.scales[rows, :groups, None]
    return weight.reshape(-1, in_features)


def _decode_gemv_fast(arrays: AwqArrays, group_size: int, rows: slice) -> Floats:
    """Four rows lie together."""
    start, stop = rows.start // 4, -(-rows.stop // 4)
    outputs, groups = slice(4 * start, 4 * stop), arrays.qweight.shape[1] // group_size
    weight = _unshuffle(arrays.qweight[start:stop]).reshape(-1, groups, group_size)
    weight *= arrays.scales[:groups, outputs].T[:, :, None]
    weight += arrays.zeros[:groups, outputs].T[:, :, None]
    whole = weight.reshape(-1, arrays.qweight.shape[1])
    return whole[rows.start - outputs.start : rows.stop - outputs.start]


_DECODERS = {"gemm": _decode_gemm, "gemv": _decode_gemv, "gemv_fast": _decode_gemv_fast}


def _nibbles(words: npt.NDArray[np.int32]) -> Floats:
    """float32 [rows, 8 * words]: the nibbles of each word, the lowest first."""
    return nibble_floats(np.ascontiguousarray(words).view(np.uint8))


def _unshuffle(qweight: npt.NDArray[np.int16]) -> Floats:
    """float32 codes [4 * n, in], undoing the three reorderings of `pack_intweight` in turn."""
    quarters, columns = qweight.shape
    codes = nibble_floats(qweight.view(np.uint8))
    tiles = codes.reshape(quarters, columns // 64, 4, 64)
    rows = tiles.transpose(0, 2, 1, 3).reshape(-1, columns // 32, 4, 2, 4)
    eights = rows.transpose(0, 1, 2, 4, 3).reshape(-1, columns // 32, 4, 4, 2)
    return eights.transpose(0, 1, 3, 2, 4).reshape(4 * quarters, columns)
