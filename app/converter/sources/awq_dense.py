"""AWQ linears decoded by the formats' formulas, block by block: what `awq_native` is held to.

gemm, gemv: (q - z) * s; gemv_fast: q * s + scaled zero; float32 throughout (AutoAWQ:
awq/utils/packing_utils.py `dequantize_gemm`, which rounds to float16 at the end).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from app.converter.sources.awq_native import AwqArrays
from app.converter.sources.bitstream import nibble_floats
from app.converter.sources.file_rows import rows_per_block

Floats = npt.NDArray[np.float32]
Blocks = Iterator[tuple[slice, Floats]]

# Nibble i of a gemm word is column 8 * word + _GEMM_COLUMNS[i].
_GEMM_COLUMNS = [0, 2, 4, 6, 1, 3, 5, 7]


def iter_dense(layout: str, group_size: int, arrays: AwqArrays) -> Blocks:
    """(rows, float32 [n, in]) from first to last row."""
    return _DECODERS[layout](arrays, group_size)


def _iter_gemm(arrays: AwqArrays, group_size: int) -> Blocks:
    """Words hold eight rows of W, so the blocks are of whole words."""
    in_features, num_words = arrays.qweight.shape
    step = max(1, rows_per_block(in_features) // 8)
    for start in range(0, num_words, step):
        block = slice(start, min(start + step, num_words))
        rows = slice(8 * block.start, 8 * block.stop)
        scales = arrays.scales[:, rows].reshape(-1, block.stop - block.start, 8)
        codes = _nibbles(arrays.qweight[:, block]).reshape(-1, group_size, rows.stop - rows.start)
        codes -= _nibbles(arrays.zeros[:, block])[:, None]
        codes *= scales[:, :, _GEMM_COLUMNS].reshape(len(scales), 1, -1)
        weight = np.empty((block.stop - block.start, 8, in_features), np.float32)
        weight[:, _GEMM_COLUMNS] = codes.reshape(in_features, -1, 8).transpose(1, 2, 0)
        yield rows, weight.reshape(-1, in_features)


def _iter_gemv(arrays: AwqArrays, group_size: int) -> Blocks:
    out_features, in_features = arrays.qweight.shape[0], 8 * arrays.qweight.shape[1]
    groups, step = in_features // group_size, rows_per_block(in_features)
    for start in range(0, out_features, step):
        rows = slice(start, min(start + step, out_features))
        weight = _nibbles(arrays.qweight[rows]).reshape(-1, groups, group_size)
        weight -= _nibbles(arrays.zeros[rows])[:, :groups, None]
        weight *= arrays.scales[rows, :groups, None]
        yield rows, weight.reshape(-1, in_features)


def _iter_gemv_fast(arrays: AwqArrays, group_size: int) -> Blocks:
    quarters, in_features = arrays.qweight.shape
    groups, step = in_features // group_size, max(1, rows_per_block(in_features) // 4)
    for start in range(0, quarters, step):
        stop = min(start + step, quarters)
        rows = slice(4 * start, 4 * stop)
        weight = _unshuffle(arrays.qweight[start:stop]).reshape(-1, groups, group_size)
        weight *= arrays.scales[:groups, rows].T[:, :, None]
        weight += arrays.zeros[:groups, rows].T[:, :, None]
        yield rows, weight.reshape(-1, in_features)


_DECODERS = {"gemm": _iter_gemm, "gemv": _iter_gemv, "gemv_fast": _iter_gemv_fast}


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
