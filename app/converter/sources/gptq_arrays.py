"""One GPTQ linear as stored, and its two decoders: into a native scheme, and by the plain formula.

W[o, i] = scales[g, o] * (q[i, o] - z[g, o]) with g = g_idx[i] (gptqmodel:utils/model_dequant.py:
convert_gptq_file), in float32 from the stored scales, each operation rounded once. GPTQModel's
dequantizer computes the same before it casts to the wanted type; its kernels multiply in the dtype
of the scales.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from app.checkpoint.bits import pack_codes
from app.checkpoint.layout import F16, check_linear
from app.checkpoint.schemes import Linear, QuantScheme, ScaleDtype
from app.converter.sources.bitstream import nibble_floats
from app.converter.sources.dense import load_floats
from app.converter.sources.file_rows import rows_per_block
from app.converter.sources.gptq_config import LinearSettings
from app.converter.sources.gptq_layout import gather, unpack
from app.converter.sources.gptq_zeros import Convention, Judged, add_one_to_words, zero_points
from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.native_grid import (
    flip_sign_bits,
    native_bits,
    native_scales,
    to_native_groups,
)
from app.converter.sources.quantized_linear import iter_row_slices

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class GptqArrays:
    """The arrays of one linear [out, in], not read yet, and what they mean.

    qweight  int32 [words of in, out]
    qzeros   int32 [G, words of out]
    scales   float [G, out]
    order    int32 [in]: the columns sorted by their group; None where they are in order
    """

    shape: tuple[int, int]
    settings: LinearSettings
    zeros: Judged
    qweight: StoredArray
    qzeros: StoredArray
    scales: StoredArray
    order: npt.NDArray[np.int32] | None

    @property
    def stem(self) -> str:
        """The linear's name in the folder."""
        return self.qweight.name.removesuffix(".qweight")

    @property
    def group_size(self) -> int:
        """Columns of a group, at most all."""
        width = self.shape[1]
        return width if self.settings.group_size < 0 else min(self.settings.group_size, width)

    @property
    def centre(self) -> int:
        """The zero point of a symmetric grid."""
        return 1 << (self.settings.bits - 1)


def load_native(arrays: GptqArrays, quant: QuantScheme) -> Linear:
    """The linear in the scheme `quant`, float16 scales wherever they hold what is stored.

    Raises InvalidSourceError for scales that are not finite.
    """
    scales = native_scales(load_scales(arrays).T)
    if scales.dtype == F16:
        quant = replace(quant, scale_dtype=ScaleDtype.FP16)
    linear = Linear(
        shape=arrays.shape,
        quant=quant,
        packed=_pack(arrays, quant),
        scales=_spread(arrays, scales),
        zeros=None if arrays.zeros.is_centred else _spread(arrays, _load_zeros(arrays).T),
        perm=arrays.order,
    )
    check_linear(arrays.stem, linear)
    return linear


def iter_dense(arrays: GptqArrays) -> Iterator[tuple[slice, Floats]]:
    """(rows, float32 [n, in]) by the formula, from first to last."""
    words = arrays.qweight.load().view(np.uint32)
    scales, zeros = load_scales(arrays).astype(np.float32), _zeros_by_formula(arrays)
    for rows in iter_row_slices(arrays.shape):
        yield rows, _decode(arrays, words[:, rows], scales[:, rows], zeros[:, rows])


def load_rows(arrays: GptqArrays, rows: slice) -> Floats:
    """Some rows of what `iter_dense` gives."""
    words = arrays.qweight.load_columns(rows).view(np.uint32)
    scales, zeros = load_scales(arrays).astype(np.float32), _zeros_by_formula(arrays)
    return _decode(arrays, words, scales[:, rows], zeros[:, rows])


def _decode(arrays: GptqArrays, words: Words, scales: Floats, zeros: Floats) -> Floats:
    weight = _codes_by_formula(arrays, words)
    _apply(np.subtract, weight, zeros, arrays)
    _apply(np.multiply, weight, scales, arrays)
    return weight


def load_scales(arrays: GptqArrays) -> Array:
    """[G, out] in the stored dtype; refused unless all are finite."""
    return load_floats(arrays.scales).reshape(arrays.scales.shape)


def _column_groups(arrays: GptqArrays) -> npt.NDArray[np.intp]:
    """The group of each column, [in]."""
    groups = np.arange(arrays.shape[1]) // arrays.group_size
    if arrays.order is None:
        return groups
    by_column = np.empty_like(groups)
    by_column[arrays.order] = groups
    return by_column


def _codes_by_formula(arrays: GptqArrays, words: Words) -> Floats:
    """Codes float32 [n, in] of words [num_words, n], each by its own address."""
    bits, num_columns = arrays.settings.bits, arrays.shape[1]
    if bits == 4:
        codes = nibble_floats(np.ascontiguousarray(words.T).view(np.uint8))
        return np.ascontiguousarray(codes[:, :num_columns])
    fields = gather(words, bits, np.arange(num_columns), is_planar=arrays.settings.is_planar)
    return fields.T.astype(np.float32, order="C")


def _apply(operation: np.ufunc, weight: Floats, values: Floats, arrays: GptqArrays) -> None:
    """Applies values [G, n] to the columns of their groups in weight [n, in]."""
    by_row = np.ascontiguousarray(values.T)
    if arrays.order is None and weight.shape[1] % arrays.group_size == 0:
        groups = weight.reshape(*by_row.shape, arrays.group_size)
        operation(groups, by_row[:, :, None], out=groups)
        return
    operation(weight, np.take(by_row, _column_groups(arrays), axis=1), out=weight)


def _spread(arrays: GptqArrays, values: Array) -> Array:
    return to_native_groups(values, arrays.group_size, arrays.shape[1])


def _pack(arrays: GptqArrays, quant: QuantScheme) -> Codes:
    """Native rows: the words of a column are already its bitstream, lowest bits first."""
    (num_rows, num_columns), bits = arrays.shape, arrays.settings.bits
    words = arrays.qweight.load().view(np.uint32)
    packed = np.empty((num_rows, quant.row_bytes(num_columns)), np.uint8)
    is_native = arrays.order is None and bits == quant.bits and not _has_planes(arrays)
    pack = _pack_words if is_native and num_columns * bits % 8 == 0 else _pack_codes
    step = rows_per_block(num_columns)
    for start in range(0, num_rows, step):
        rows = slice(start, start + step)
        packed[rows] = pack(arrays, np.ascontiguousarray(words[:, rows].T))
    return packed


def _has_planes(arrays: GptqArrays) -> bool:
    return arrays.settings.is_planar and arrays.settings.bits not in (2, 4, 8)


def _pack_words(arrays: GptqArrays, words: Words) -> Codes:
    bits = arrays.settings.bits
    packed = words.view(np.uint8)[:, : arrays.shape[1] * bits // 8]
    return flip_sign_bits(packed, bits) if arrays.zeros.is_centred else packed


def _pack_codes(arrays: GptqArrays, words: Words) -> Codes:
    settings = arrays.settings
    codes = unpack(words, settings.bits, arrays.shape[1], is_planar=settings.is_planar)
    if arrays.order is not None:
        codes = np.take(codes, arrays.order, axis=1)
    if arrays.zeros.is_centred:
        codes = codes - np.uint8(arrays.centre)
    return pack_codes(np.ascontiguousarray(codes), native_bits(settings.bits))


def _load_zeros(arrays: GptqArrays) -> Codes:
    """Zero points uint8 [G, out]."""
    fields = read_zero_fields(arrays.qzeros, arrays.settings, arrays.shape, arrays.zeros.convention)
    return zero_points(fields, arrays.zeros.convention, arrays.settings.bits)


def read_zero_fields(
    qzeros: StoredArray,
    settings: LinearSettings,
    shape: tuple[int, int],
    convention: Convention = Convention.STORED,
) -> Codes:
    """The fields of `qzeros` uint8 [G, out], the packed words corrected where they need it."""
    words = qzeros.load().view(np.uint32)
    if convention is Convention.LESS_ONE_IN_WORDS:
        words = add_one_to_words(words, settings.bits)
    return unpack(words, settings.bits, shape[0], is_planar=settings.is_planar)


def _zeros_by_formula(arrays: GptqArrays) -> Floats:
    """Zero points float32 [G, out], each field by its own address."""
    words, bits = arrays.qzeros.load().view(np.uint32), arrays.settings.bits
    if arrays.zeros.convention is Convention.LESS_ONE_IN_WORDS:
        words = add_one_to_words(words, bits)
    outputs = np.arange(arrays.shape[0])
    fields = gather(words.T, bits, outputs, is_planar=arrays.settings.is_planar)
    zeros = fields.T.astype(np.float32)
    if arrays.zeros.convention in (Convention.LESS_ONE, Convention.LESS_ONE_WRAPPED):
        zeros += 1
    if arrays.zeros.convention is Convention.LESS_ONE_WRAPPED:
        zeros %= 1 << bits
    return zeros
