"""One EXL2 linear as stored, and its two decoders: into a native scheme, and by the formula."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from app.checkpoint.bits import pack_codes, unpack_codes
from app.checkpoint.layout import F16, check_linear
from app.checkpoint.schemes import Linear, QuantScheme, ScaleDtype
from app.converter.sources.dense import load_floats
from app.converter.sources.file_rows import rows_per_block
from app.converter.sources.gptq_layout import gather, unpack
from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.native_grid import native_scales
from app.converter.sources.quantized_linear import iter_row_slices

Words = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float32]


class Group(NamedTuple):
    """`columns` (as stored) of `bits` each, in the `words` of q_weight's rows."""

    bits: int
    words: slice
    columns: slice


@dataclass(frozen=True, slots=True)
class Exl2Arrays:
    """The arrays of one linear [out, in], not read yet; `order` int32 [in] is the native `perm`."""

    shape: tuple[int, int]
    groups: tuple[Group, ...]
    q_weight: StoredArray
    q_scale: StoredArray
    q_scale_max: StoredArray
    order: npt.NDArray[np.int32] | None


def load_native(arrays: Exl2Arrays, quant: QuantScheme) -> Linear:
    """The linear in the scheme `quant`; InvalidSourceError for scales that are not finite."""
    (num_rows, num_columns), step = arrays.shape, rows_per_block(arrays.shape[1])
    words = arrays.q_weight.load().view(np.uint32)
    packed = np.empty((num_rows, quant.row_bytes(num_columns)), np.uint8)
    for start in range(0, num_rows, step):
        rows = slice(start, min(start + step, num_rows))
        packed[rows] = pack_codes(_signed_codes(arrays, words[:, rows]), quant.bits)
    scales = native_scales(np.ascontiguousarray(_spread_scales(arrays, quant)))
    if scales.dtype == F16:
        quant = replace(quant, scale_dtype=ScaleDtype.FP16)
    linear = Linear(arrays.shape, quant, packed=packed, scales=scales, perm=arrays.order)
    check_linear(arrays.q_weight.name, linear)
    return linear


def iter_dense(arrays: Exl2Arrays) -> Iterator[tuple[slice, Floats]]:
    """(rows, float32 [n, in]) by the formula, from first to last."""
    words, scales = arrays.q_weight.load().view(np.uint32), _scales_by_formula(arrays)
    for rows in iter_row_slices(arrays.shape):
        yield rows, _decode(arrays, words[:, rows], scales[:, rows])


def load_rows(arrays: Exl2Arrays, rows: slice) -> Floats:
    """Some rows of what `iter_dense` gives."""
    words = arrays.q_weight.load_columns(rows).view(np.uint32)
    return _decode(arrays, words, _scales_by_formula(arrays)[:, rows])


def _decode(arrays: Exl2Arrays, words: Words, scales: Floats) -> Floats:
    """float32 [n, in] of words [num_words, n] and scales [G, n]."""
    weight = np.empty((arrays.shape[1], words.shape[1]), np.float32)
    inputs = np.arange(len(weight)) if arrays.order is None else arrays.order
    for index, group in enumerate(arrays.groups):
        positions = np.arange(group.columns.stop - group.columns.start)
        codes = gather(words[group.words], group.bits, positions, is_planar=False)
        signed = codes.astype(np.float32) - np.float32(1 << (group.bits - 1))
        weight[inputs[group.columns]] = signed * scales[index]
    return np.ascontiguousarray(weight.T)


def _signed_codes(arrays: Exl2Arrays, words: Words) -> npt.NDArray[Any]:
    """Codes int8 [n, in] of words [num_words, n], columns as stored, zero in the middle."""
    codes = np.empty((words.shape[1], arrays.shape[1]), np.uint8)
    for bits, run in groupby(arrays.groups, key=lambda group: group.bits):
        groups = list(run)
        columns = slice(groups[0].columns.start, groups[-1].columns.stop)
        stream = words[groups[0].words.start : groups[-1].words.stop]
        count = columns.stop - columns.start
        unsigned = unpack(np.ascontiguousarray(stream.T), bits, count, is_planar=False)
        codes[:, columns] = unsigned - np.uint8(1 << (bits - 1))
    return codes.view(np.int8)


def _spread_scales(arrays: Exl2Arrays, quant: QuantScheme) -> Floats:
    """[out, G'], the scale of its source group for each native group."""
    codes = unpack_codes(
        arrays.q_scale.load().view(np.uint8), 4, arrays.shape[0], signed=False
    ).astype(np.float32)
    steps = (codes + 1) ** 2
    scales = steps * (_load_scale_max(arrays)[:, None] / np.float32(256))
    size = arrays.shape[1] if quant.group_size == -1 else quant.group_size
    ends = [group.columns.stop for group in arrays.groups]
    sources = np.searchsorted(ends, np.arange(0, arrays.shape[1], size), side="right")
    return np.asarray(scales[sources].T, np.float32)


def _scales_by_formula(arrays: Exl2Arrays) -> Floats:
    """[G, out]; exact: at most 9 bits times 11 bits, times a power of two."""
    words, outputs = arrays.q_scale.load().view(np.uint32), np.arange(arrays.shape[0])
    codes = gather(np.ascontiguousarray(words.T), 4, outputs, is_planar=False).T.astype(np.float32)
    return (codes + 1) * (codes + 1) * _load_scale_max(arrays)[:, None] / np.float32(256)


def _load_scale_max(arrays: Exl2Arrays) -> Floats:
    return load_floats(arrays.q_scale_max).astype(np.float32).reshape(-1)
