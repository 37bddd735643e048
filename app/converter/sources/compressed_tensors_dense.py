"""Integer weights of compressed-tensors by the plain formula, which `load_native` is held to.

Shares nothing with it but the arrays: every code is gathered by its own address, made signed and
decoded as the library does, (q - z) * s, in float32.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from app.checkpoint.layout import I8
from app.converter.sources.bitstream import nibble_floats
from app.converter.sources.compressed_tensors_integer import IntegerArrays, Storage, per_group
from app.converter.sources.file_rows import Bytes
from app.converter.sources.quantized_linear import (
    Blocks,
    Floats,
    Rows,
    load_scales,
    share_steps,
)


class _Steps(NamedTuple):
    """[out, G]: what each group's codes are shifted and multiplied by."""

    zeros: Floats | None
    scales: Floats


def row_readers(arrays: IntegerArrays) -> tuple[Rows, Blocks]:
    """`load_rows` and `iter_dense` of a SourceLinear."""
    return share_steps(arrays.shape, partial(_load_steps, arrays), partial(_decode, arrays))


def _load_steps(arrays: IntegerArrays) -> _Steps:
    zeros = None if arrays.zeros is None else per_group(arrays, _load_zeros(arrays))
    return _Steps(zeros, per_group(arrays, load_scales(arrays.scales)))


def _decode(arrays: IntegerArrays, steps: _Steps, rows: slice) -> Floats:
    weight = _signed_codes(arrays, arrays.weight.rows.read_rows(rows))
    if steps.zeros is not None:
        weight -= _of_columns(arrays, steps.zeros[rows])
    weight *= _of_columns(arrays, steps.scales[rows])
    return weight


def _of_columns(arrays: IntegerArrays, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """[n, G] -> [n, in]: the value of each column's group."""
    if arrays.order is None:
        return np.repeat(values, arrays.group_size, axis=1)
    groups = np.empty(arrays.shape[1], np.intp)
    groups[arrays.order] = np.arange(arrays.shape[1]) // arrays.group_size
    return np.asarray(values[:, groups])


def _signed_codes(arrays: IntegerArrays, raw: Bytes) -> Floats:
    if arrays.storage is Storage.BYTES:
        return raw.view(np.int8).astype(np.float32)
    if arrays.bits == 8:
        codes = raw[:, : arrays.shape[1]].astype(np.float32)
    elif arrays.bits == 4:
        codes = nibble_floats(raw)[:, : arrays.shape[1]]
    else:
        codes = _gather(arrays, raw.view(np.uint32), arrays.shape[1])
    return codes - np.float32(arrays.centre)


def _load_zeros(arrays: IntegerArrays) -> Floats:
    assert arrays.zeros is not None
    stored = arrays.zeros.load()
    if stored.dtype == I8:
        return stored.astype(np.float32)
    words = np.ascontiguousarray(stored.T).view(np.uint32)
    return (_gather(arrays, words, arrays.shape[0]) - np.float32(arrays.centre)).T


def _gather(arrays: IntegerArrays, words: npt.NDArray[np.uint32], count: int) -> Floats:
    """Unsigned codes float32 [n, count] of words [n, num_words]."""
    bits, positions = arrays.bits, np.arange(count)
    if arrays.storage is Storage.PADDED:
        word, field = np.divmod(positions, 32 // bits)
        shift = field * bits
    else:
        word, shift = np.divmod(positions * bits, 32)
    wide = np.pad(words, ((0, 0), (0, 1))).astype(np.uint64)
    wide[:, :-1] |= wide[:, 1:] << np.uint64(32)
    codes = wide[:, word] >> shift.astype(np.uint64)
    return (codes & np.uint64((1 << bits) - 1)).astype(np.float32)
