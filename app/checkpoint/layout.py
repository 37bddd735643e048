"""Which arrays a stored linear has, and where they stand: the one table for writer and reader.

File and tensor names are those of the native folder: `layers.3.self_attn.q_proj` stands in
`layer_03.safetensors` as `self_attn.q_proj.packed`, `self_attn.q_proj.scales` ...; everything
outside the layers keeps its full name in `embed`, `norm` or `lm_head.safetensors`. The experts of a
layer may stand in files of their own, `layer_03_experts_00.safetensors` ..., of any size.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from app.checkpoint.schemes import Linear, QuantScheme, ScaleDtype, Scheme
from app.core.errors import CheckpointError

DType = np.dtype[Any]
Shape = tuple[int, ...]

F32, F16, BF16 = np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)
I8, U8, I32 = np.dtype(np.int8), np.dtype(np.uint8), np.dtype(np.int32)
FLOATS = (F32, F16, BF16)

_LAYER_NAME = re.compile(r"layers\.(\d+)\.(.+)")
_LAYER_FILE = re.compile(r"(layer_(\d+))(?:_experts_\d+)?")
_FILE_OF = {"embed_tokens": "embed"}
_SCALE_DTYPES: dict[ScaleDtype, tuple[DType, ...]] = {
    ScaleDtype.FP16: (F16,),
    ScaleDtype.FP32: (F32,),
    ScaleDtype.TWO_LEVEL: (I8, U8),
}


@dataclass(frozen=True, slots=True)
class ArrayLayout:
    """What one array of a linear must look like."""

    dtypes: tuple[DType, ...]
    shape: Shape
    required: bool = True


def linear_layout(quant: QuantScheme | None, shape: tuple[int, int]) -> dict[str, ArrayLayout]:
    """The arrays of a linear [out, in], by their suffix on disk; `quant` None means dense."""
    out_features, in_features = shape
    optional = {"bias": ArrayLayout(FLOATS, (out_features,), required=False)}
    if quant is None:
        return {"weight": ArrayLayout(FLOATS, shape), **optional}
    optional["perm"] = ArrayLayout((I32,), (in_features,), required=False)
    packed = ArrayLayout((U8,), (out_features, quant.row_bytes(in_features)))
    return {"packed": packed, **_group_layout(quant, out_features, in_features), **optional}


def _group_layout(
    quant: QuantScheme, out_features: int, in_features: int
) -> dict[str, ArrayLayout]:
    groups = (out_features, quant.num_groups(in_features))
    per_group = ArrayLayout(_SCALE_DTYPES[quant.scale_dtype], groups)
    per_super = ArrayLayout((F16,), (out_features, quant.num_super_groups(in_features)))
    two_level, affine = quant.scale_dtype is ScaleDtype.TWO_LEVEL, quant.scheme is Scheme.AFFINE
    layout = {"scales": per_group}
    if affine:
        layout["biases"] = per_group
    if quant.scheme is Scheme.ZERO:
        layout["zeros"] = ArrayLayout((U8,), groups)
    if two_level:
        layout["super_scales"] = per_super
    if two_level and affine:
        layout["super_biases"] = per_super
    return layout


@cache
def stored_bytes(quant: QuantScheme, shape: tuple[int, int]) -> int:
    """Bytes of a quantized linear's required arrays."""
    arrays = linear_layout(quant, shape).values()
    return sum(math.prod(a.shape) * a.dtypes[0].itemsize for a in arrays if a.required)


def check_arrays(
    name: str,
    quant: QuantScheme | None,
    shape: tuple[int, int],
    found: Mapping[str, tuple[DType, Shape]],
) -> None:
    """Raises CheckpointError when the (dtype, shape) of linear `name`'s arrays do not fit."""
    layout = linear_layout(quant, shape)
    for array in sorted(found.keys() - layout.keys()):
        raise CheckpointError(
            "{name}: array {array} does not belong to its scheme.", name=name, array=array
        )
    for array, wanted in layout.items():
        if array in found:
            _check_array(f"{name}.{array}", wanted, *found[array])
        elif wanted.required:
            raise CheckpointError("{name}: array {array} is missing.", name=name, array=array)


def _check_array(name: str, wanted: ArrayLayout, dtype: DType, shape: Shape) -> None:
    if shape != wanted.shape:
        raise CheckpointError(
            "{name} has shape {shape}, its record needs {wanted}.",
            name=name,
            shape=list(shape),
            wanted=list(wanted.shape),
        )
    if dtype not in wanted.dtypes:
        names = " or ".join(str(d) for d in wanted.dtypes)
        raise CheckpointError(
            "{name} has dtype {dtype}, its record needs {wanted}.",
            name=name,
            dtype=dtype,
            wanted=names,
        )


def check_linear(name: str, linear: Linear) -> None:
    """Raises CheckpointError for wrong dtypes or shapes, or values that are not finite."""
    arrays = linear.arrays()
    check_arrays(
        name, linear.quant, linear.shape, {k: (a.dtype, a.shape) for k, a in arrays.items()}
    )
    for array in ("scales", "biases", "super_scales", "super_biases"):
        if array in arrays and not np.isfinite(arrays[array]).all():
            raise CheckpointError(
                "{name}.{array} holds a value that is not finite.", name=name, array=array
            )
    check_perm(name, linear)


def check_perm(name: str, linear: Linear) -> None:
    """Raises CheckpointError unless `perm`, when set, is a permutation (kernels index by it)."""
    if linear.perm is not None and not np.array_equal(
        np.sort(linear.perm), np.arange(linear.shape[1])
    ):
        raise CheckpointError("{name}.perm is not a permutation of the input columns.", name=name)


def file_stem(name: str) -> str:
    """The file (without `.safetensors`) where canonical tensor `name` stands, experts or not."""
    layer = _LAYER_NAME.fullmatch(name)
    return f"layer_{int(layer[1]):02d}" if layer else _FILE_OF.get(name, name)


def expert_file_stem(stem: str, number: int) -> str:
    """The file of a layer's experts beside the layer's own, `stem`."""
    return f"{stem}_experts_{number:02d}"


def is_place_of(stem: str, name: str) -> bool:
    """Whether canonical tensor `name` may stand in file `stem`."""
    layer = _LAYER_FILE.fullmatch(stem)
    return (layer[1] if layer else stem) == file_stem(name)


def local_name(name: str) -> str:
    """Canonical `name` as written inside its file."""
    layer = _LAYER_NAME.fullmatch(name)
    return layer[2] if layer else name


def canonical_name(stem: str, local: str) -> str:
    """The inverse of `local_name`, of a tensor found in the file `stem`."""
    layer = _LAYER_FILE.fullmatch(stem)
    return f"layers.{int(layer[2])}.{local}" if layer else local
