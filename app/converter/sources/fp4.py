"""FP4 weights: two e2m1 codes a byte, with one small float scale per 16 (NVFP4) or 32 (MXFP4).

OCP Microscaling Formats v1.0 (e2m1, e8m0); compressed-tensors:compressors/{nvfp4,mxfp4}/base.py;
TensorRT-Model-Optimizer:modelopt/torch/quantization/qtensor/nvfp4_tensor.py. The low nibble is the
even column. MXFP4: W = e2m1 * 2 ** (code - 127). NVFP4: W = e2m1 * s with s the e4m3 scale times
(modelopt) or divided by (compressed-tensors) one fp32 scale of the whole tensor. All of it float32,
each step rounded once; the libraries round the result to bf16 afterwards. Doubled, e2m1 is an
integer (0, 1, 2, 3, 4, 6, 8, 12), so int8 codes times s / 2 are the same numbers (minus zero
becomes zero).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from app.checkpoint.schemes import Linear, QuantScheme, ScaleDtype, Scheme
from app.converter.sources.base import SourceLinear
from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.linear_format import LinearPlace
from app.converter.sources.quantized_linear import (
    Floats,
    check_size,
    create_quantized_linear,
    iter_row_slices,
    load_exponents,
    load_scales,
    narrow_scales,
)
from app.converter.sources.small_floats import DOUBLED_E2M1, E4M3_VALUES

MXFP4_GROUP, NVFP4_GROUP = 32, 16
_BYTES = np.arange(256)
# Both values of every byte, so that one lookup decodes two weights; doubled, as int8.
_DOUBLED = np.stack([DOUBLED_E2M1[_BYTES & 15], DOUBLED_E2M1[_BYTES >> 4]], axis=1)
_DOUBLED_PAIRS = _DOUBLED.view(np.uint16)[:, 0]
_VALUE_PAIRS: npt.NDArray[np.uint64] = (_DOUBLED * np.float32(0.5)).view(np.uint64)[:, 0]


@dataclass(frozen=True, slots=True)
class Fp4Arrays:
    """`packed`: out * in / 2 bytes; `scales` [out, in / group]: e8m0 (group 32), e4m3 (group 16).

    `global_scale`, one float, multiplies the scales, or divides them when `divides`.
    """

    packed: StoredArray
    scales: StoredArray
    group: int
    global_scale: StoredArray | None = None
    divides: bool = False

    @property
    def stored(self) -> tuple[StoredArray, ...]:
        """All arrays, the weight first."""
        arrays = (self.packed, self.scales, self.global_scale)
        return tuple(array for array in arrays if array is not None)


def open_fp4(place: LinearPlace, source_type: str, arrays: Fp4Arrays) -> SourceLinear:
    """A linear whose arrays have the shapes that `Fp4Arrays` asks for."""
    quant = QuantScheme(8, arrays.group, Scheme.SYM, ScaleDtype.FP32)
    load = partial(_load_native, place.shape, quant, arrays)
    rows = partial(_load_rows, place.shape, arrays)
    return create_quantized_linear(place, source_type, arrays.stored, rows, (quant, load))


def _load_scales(arrays: Fp4Arrays) -> Floats:
    """The true scales, float32 [out, G]; refused where one is NaN or absurdly large."""
    is_mx = arrays.group == MXFP4_GROUP
    scales = load_exponents(arrays.scales) if is_mx else _load_e4m3(arrays)
    check_size(scales, arrays.scales)
    return scales


def _load_e4m3(arrays: Fp4Arrays) -> Floats:
    scales = np.take(E4M3_VALUES, arrays.scales.load().view(np.uint8), mode="clip")
    if arrays.global_scale is None:
        return scales
    factor = load_scales(arrays.global_scale).reshape(())
    with np.errstate(all="ignore"):  # the caller refuses what is not finite
        scaled = np.divide if arrays.divides else np.multiply
        return np.asarray(scaled(scales, factor))


def _load_native(shape: tuple[int, int], quant: QuantScheme, arrays: Fp4Arrays) -> Linear:
    packed, codes = arrays.packed.split_rows(shape[0]), np.empty(shape, np.uint8)
    for rows in iter_row_slices(shape):
        pairs = np.take(_DOUBLED_PAIRS, packed.read_rows(rows), mode="clip")
        codes[rows] = pairs.view(np.uint8)
    scales = _load_scales(arrays) * np.float32(0.5)
    return narrow_scales(Linear(shape, quant, packed=codes, scales=scales))


def _load_rows(shape: tuple[int, int], arrays: Fp4Arrays, rows: slice) -> Floats:
    scales = _load_scales(replace(arrays, scales=arrays.scales.part(rows)))
    packed = arrays.packed.split_rows(shape[0]).read_rows(rows)
    values = np.take(_VALUE_PAIRS, packed, mode="clip").view(np.float32)
    values = values.reshape(len(packed), -1, arrays.group) * scales[:, :, None]
    return values.reshape(len(packed), -1)
