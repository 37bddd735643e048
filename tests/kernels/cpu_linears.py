"""Random linears of every storage scheme, for the kernels' tests."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from app.checkpoint.reference_quant import quantized_linear
from app.checkpoint.schemes import Linear, QuantScheme, ScaleDtype, Scheme

DENSE_DTYPES: dict[str, Any] = {
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
}

# What the library keeps with six of eight bits.
SIX_BIT_CODES = (-32, 31)


def random_linear(
    quant: QuantScheme,
    shape: tuple[int, int],
    seed: int = 0,
    *,
    size: float = 1.0,
    with_perm: bool = False,
    with_bias: bool = False,
    codes: tuple[int, int] | None = None,
) -> Linear:
    """Codes over their whole range or `codes`', scales of both signs, weights of about `size`."""
    rng = np.random.default_rng(seed)
    low, high = codes or code_range(quant)
    dtype = np.int8 if quant.scheme is Scheme.SYM else np.uint8
    stored = rng.integers(low, high, shape, endpoint=True).astype(dtype)
    groups = (shape[0], quant.num_groups(shape[1]))
    supers = (shape[0], quant.num_super_groups(shape[1]))
    optional: dict[str, Any] = {}
    if quant.scheme is Scheme.ZERO:
        optional["zeros"] = rng.integers(0, high, groups, endpoint=True).astype(np.uint8)
    if quant.scheme is Scheme.AFFINE:
        optional["biases"] = _group_values(rng, quant, groups, size, signed=False)
        if quant.scale_dtype is ScaleDtype.TWO_LEVEL:
            optional["super_biases"] = -_super_values(rng, quant, supers, size)
    if quant.scale_dtype is ScaleDtype.TWO_LEVEL:
        optional["super_scales"] = _super_values(rng, quant, supers, size)
    if with_perm:
        optional["perm"] = rng.permutation(shape[1]).astype(np.int32)
    if with_bias:
        optional["bias"] = rng.standard_normal(shape[0]).astype(np.float32)
    signed = quant.scheme is Scheme.SYM
    return quantized_linear(
        quant, stored, _group_values(rng, quant, groups, size, signed), **optional
    )


def dense_linear(dtype: str, shape: tuple[int, int], seed: int = 0) -> Linear:
    """Standard normal weights and a bias."""
    rng = np.random.default_rng(seed)
    weight = rng.standard_normal(shape).astype(DENSE_DTYPES[dtype])
    return Linear(shape, weight=weight, bias=rng.standard_normal(shape[0]).astype(np.float32))


def code_range(quant: QuantScheme) -> tuple[int, int]:
    """Smallest and largest code."""
    if quant.scheme is Scheme.SYM:
        return -(2 ** (quant.bits - 1)), 2 ** (quant.bits - 1) - 1
    return 0, 2**quant.bits - 1


def _group_values(
    rng: np.random.Generator, quant: QuantScheme, shape: tuple[int, int], size: float, signed: bool
) -> npt.NDArray[Any]:
    if quant.scale_dtype is ScaleDtype.TWO_LEVEL:
        low, dtype = (-32, np.int8) if signed else (0, np.uint8)
        return rng.integers(low, 63, shape, endpoint=True).astype(dtype)
    values = size * rng.standard_normal(shape) / 2 ** (quant.bits - 2)
    return values.astype(np.float16 if quant.scale_dtype is ScaleDtype.FP16 else np.float32)


def _super_values(
    rng: np.random.Generator, quant: QuantScheme, shape: tuple[int, int], size: float
) -> npt.NDArray[np.float16]:
    return (size * rng.standard_normal(shape) / 2 ** (quant.bits + 3)).astype(np.float16)
