"""AWQ linears decoded by the formats' formulas, block by block: what `awq_native` is held to.

gemm, gemv: (q - z) * s; gemv_fast: q * s + scaled zero; float32 throughout (AutoAWQ:
awq/utils/packing_utils.py `dequantize_gemm`, which rounds to float16 at the end).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from app.converter.sources.awq_native import AwqArrays
from app.converter.sources.file_rows import rows_per_block

Floats = npt.NDArray[np.float32]
Blocks = Iterator[tuple[slice, Floats]]

_SHIFTS = np.arange(0, 32, 4, dtype=np.uint32)
# Column j of eight stands at this nibble of a gemm word.
_GEMM_NIBBLE_OF_COLUMN = (0, 4, 1, 5, 2, 6, 3, 7)


def iter_dense(layout: str, group_size: int, arrays: AwqArrays) -> Blocks:
    """(rows, float32 [n, in]) from first to last row."""
    return _DECODERS[layout](arrays, group_size)


def _iter_gemm(arrays: AwqArrays, group_size: int) -> Blocks:
    """Words hold eight rows of W, so the blocks are of whole words."""
    words, zeros = arrays.qweight.view(np.uint32), arrays.zeros.view(np.uint32)
    step = max(1, rows_per_block(words.shape[0]) // 8)
    shifts = 4 * np.array(_GEMM_NIBBLE_OF_COLUMN, np.uint32)
    for start in range(0, words.shape[1], step):
        block = slice(start, min(start + step, words.shape[1]))
        rows = slice(8 * block.start, 8 * block.stop)
        codes = _nibbles(words[:, block], shifts)
        grouped = codes.reshape(-1, group_size, codes.shape[1])
        grouped -= _nibbles(zeros[:, block], shifts)[:, None, :]
        grouped *= arrays.scales[:, None, rows]
        yield rows, np.ascontiguousarray(codes.T)


def _iter_gemv(arrays: AwqArrays, group_size: int) -> Blocks:
    words, in_features = arrays.qweight.view(np.uint32), 8 * arrays.qweight.shape[1]
    groups, step = in_features // group_size, rows_per_block(in_features)
    for start in range(0, words.shape[0], step):
        rows = slice(start, min(start + step, words.shape[0]))
        weight = _nibbles(words[rows], _SHIFTS).reshape(-1, groups, group_size)
        weight -= _nibbles(arrays.zeros[rows].view(np.uint32), _SHIFTS)[:, :groups, None]
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


def _nibbles(words: npt.NDArray[np.uint32], shifts: npt.NDArray[np.uint32]) -> Floats:
    """float32 [rows, 8 * words]: the nibbles at `shifts` of each word, in that order."""
    codes = (words[:, :, None] >> shifts) & np.uint32(15)
    return codes.astype(np.float32).reshape(words.shape[0], -1)


def _unshuffle(qweight: npt.NDArray[np.int16]) -> Floats:
    """float32 codes [4 * n, in], undoing the three reorderings of `pack_intweight` in turn."""
    quarters, columns = qweight.shape
    shifts = np.arange(0, 16, 4, dtype=np.uint16)
    codes = (qweight.view(np.uint16)[:, :, None] >> shifts) & np.uint16(15)
    tiles = codes.astype(np.uint8).reshape(quarters, columns // 64, 4, 64)
    rows = tiles.transpose(0, 2, 1, 3).reshape(-1, columns // 32, 4, 2, 4)
    eights = rows.transpose(0, 1, 2, 4, 3).reshape(-1, columns // 32, 4, 4, 2)
    natural = eights.transpose(0, 1, 3, 2, 4).reshape(4 * quarters, columns)
    return natural.astype(np.float32)
