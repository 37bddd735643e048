"""What stored codes mean: the NumPy decoder that is the native format's definition.

All arithmetic is float32, every operation rounded once: `s = super_scale * scale_code` and
`b = super_bias * bias_code`, then `q * s`, `(q - z) * s` or `(q * s) + b`. This is the order in
which `gguf.quants` decodes: it subtracts `dmin * m`, and we add `(-dmin) * m`, the same number.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from app.checkpoint.bits import pack_codes, unpack_codes
from app.checkpoint.layout import check_linear
from app.checkpoint.schemes import ARRAY_NAMES, SUPER_GROUP, Linear, QuantScheme, Scheme

Floats = npt.NDArray[np.float32]
_CHUNK_ELEMENTS = 1 << 18  # 1 MiB of float32: stays in the second-level cache
_ROW_ARRAYS = tuple(name for name in ARRAY_NAMES if name != "perm")


def dequantize(linear: Linear) -> Floats:
    """Decodes to float32 [out, in], columns in the model's input order."""
    out_features, in_features = linear.shape
    weight = np.empty(linear.shape, np.float32)
    step = max(1, _CHUNK_ELEMENTS // max(1, in_features))
    for start in range(0, out_features, step):
        rows = slice(start, min(start + step, out_features))
        weight[rows] = _decode(select_rows(linear, rows))
    return weight


def effective_scales(linear: Linear) -> tuple[Floats, Floats | None]:
    """Scales and biases (None unless affine) as float32 [out, G], both levels applied."""
    quant = _quant(linear)
    scales = _apply_super(quant, linear.scales, linear.super_scales)
    if linear.biases is None:
        return scales, None
    return scales, _apply_super(quant, linear.biases, linear.super_biases)


def select_rows(linear: Linear, rows: slice | npt.NDArray[np.intp]) -> Linear:
    """The linear of some rows, still packed: views for a slice, copies for an index array."""
    arrays = linear.arrays()
    chosen: dict[str, Any] = {name: arrays[name][rows] for name in _ROW_ARRAYS if name in arrays}
    num_rows = next(iter(chosen.values())).shape[0]
    return replace(linear, shape=(num_rows, linear.shape[1]), **chosen)


def quantized_linear(
    quant: QuantScheme,
    codes: npt.NDArray[Any],
    scales: npt.NDArray[Any],
    *,
    zeros: npt.NDArray[np.uint8] | None = None,
    biases: npt.NDArray[Any] | None = None,
    super_scales: npt.NDArray[np.float16] | None = None,
    super_biases: npt.NDArray[np.float16] | None = None,
    perm: npt.NDArray[np.int32] | None = None,
    bias: npt.NDArray[Any] | None = None,
    name: str = "linear",
) -> Linear:
    """Packs codes [out, in] (int8 for `sym`, else uint8) and checks every array.

    Raises CheckpointError, naming `name`, for wrong shapes, dtypes or scales that are not finite.
    """
    linear = Linear(
        shape=(codes.shape[0], codes.shape[1]),
        quant=quant,
        packed=pack_codes(codes, quant.bits),
        scales=scales,
        zeros=zeros,
        biases=biases,
        super_scales=super_scales,
        super_biases=super_biases,
        perm=perm,
        bias=bias,
    )
    check_linear(name, linear)
    return linear


def unpacked_codes(linear: Linear) -> npt.NDArray[Any]:
    """Codes [out, in] of a quantized linear in stored column order: int8 for `sym`, else uint8."""
    quant = _quant(linear)
    assert linear.packed is not None
    return unpack_codes(
        linear.packed, quant.bits, linear.shape[1], signed=quant.scheme is Scheme.SYM
    )


def _quant(linear: Linear) -> QuantScheme:
    assert linear.quant is not None, "a dense linear has no codes"
    return linear.quant


def _apply_super(
    quant: QuantScheme, values: npt.NDArray[Any] | None, supers: npt.NDArray[Any] | None
) -> Floats:
    assert values is not None
    single = values.astype(np.float32)
    if supers is None:
        return single
    of_group = np.arange(values.shape[1]) * quant.group_size // SUPER_GROUP
    return np.asarray(supers.astype(np.float32)[:, of_group] * single)


def _decode(linear: Linear) -> Floats:
    if linear.weight is not None:
        return linear.weight.astype(np.float32)
    stored = _decode_stored(linear)
    if linear.perm is None:
        return stored
    weight = np.empty_like(stored)
    weight[:, linear.perm] = stored
    return weight


def _decode_stored(linear: Linear) -> Floats:
    quant, (num_rows, in_features) = _quant(linear), linear.shape
    scales, biases = effective_scales(linear)
    values = _grouped(unpacked_codes(linear).astype(np.float32), scales.shape[1], quant.group_size)
    if linear.zeros is not None:
        values -= linear.zeros.astype(np.float32)[:, :, None]
    values *= scales[:, :, None]
    if biases is not None:
        values += biases[:, :, None]
    return values.reshape(num_rows, -1)[:, :in_features]


def _grouped(values: Floats, num_groups: int, group_size: int) -> Floats:
    """[rows, in] -> [rows, G, group], the short last group filled up with zeros."""
    num_rows, in_features = values.shape
    width = in_features if group_size == -1 else num_groups * group_size
    padded = values if width == in_features else np.pad(values, ((0, 0), (0, width - in_features)))
    return padded.reshape(num_rows, num_groups, -1)
