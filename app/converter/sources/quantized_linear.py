"""What the formats of quantized linears share: the lazy source, its scales, fp16 where it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from app.checkpoint.layout import F16
from app.checkpoint.schemes import Linear, QuantScheme, ScaleDtype
from app.converter.sources.base import SourceLinear
from app.converter.sources.dense import load_float_vector, load_floats
from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.linear_format import LinearPlace
from app.core.errors import InvalidSourceError

Floats = npt.NDArray[np.float32]
_LIMIT = 1e15  # squares summed over a row still fit float32
_EXPONENTS = (np.dtype(np.uint8), np.dtype(ml_dtypes.float8_e8m0fnu))
Blocks = Callable[[], Iterator[tuple[slice, Floats]]]


def create_quantized_linear(
    place: LinearPlace,
    source_type: str,
    stored: Sequence[StoredArray],
    iter_dense: Blocks,
    native: tuple[QuantScheme, Callable[[], Linear]] | None = None,
    load_rows: Callable[[slice], Floats] | None = None,
) -> SourceLinear:
    """A linear of the arrays `stored`, the weight first.

    `iter_dense` gives (rows, float32 [n, in]) from first to last; `native`, where a scheme holds
    the linear, that scheme and its loader; `load_rows`, where it is cheap, some rows.
    """
    weight = stored[0].name
    return SourceLinear(
        name=place.name,
        shape=place.shape,
        source_name=weight,
        source_type=source_type,
        source_bytes=sum(array.num_bytes for array in stored),
        is_quantized=True,
        native=None if native is None else native[0],
        load_native=partial(_refuse_native, weight) if native is None else native[1],
        load_dense=partial(_join, place.shape, iter_dense),
        load_bias=None if place.bias is None else partial(load_float_vector, place.bias),
        iter_dense=iter_dense,
        load_rows=load_rows,
    )


def load_scales(stored: StoredArray) -> Floats:
    """Float scales as float32 in their own shape; refused unless finite and of sane size."""
    scales = load_floats(stored).astype(np.float32).reshape(stored.shape)
    check_size(scales, stored)
    return scales


def check_size(scales: Floats, stored: StoredArray) -> None:
    """InvalidSourceError for scales that no trained weight has: products stay finite."""
    if not (np.abs(scales) <= _LIMIT).all():  # so written, NaN fails too
        raise InvalidSourceError(f"{stored.name} is damaged: it holds an absurdly large scale.")


def load_exponents(stored: StoredArray) -> Floats:
    """E8M0 scales, 2 ** (code - 127), as float32; refused where a code means NaN (255).

    OCP Microscaling Formats v1.0, 5.4.1: eight exponent bits, no sign, no infinity.
    """
    if stored.dtype not in _EXPONENTS:
        raise InvalidSourceError(f"{stored.name} is {stored.dtype}, which scales never are.")
    codes = stored.load().view(np.uint8)
    if (codes == 255).any():
        raise InvalidSourceError(f"{stored.name} is damaged: it holds a scale that is NaN.")
    scales: Floats = np.ldexp(np.float32(1), codes.astype(np.int32) - 127).astype(np.float32)
    check_size(scales, stored)
    return scales


def narrow_scales(linear: Linear) -> Linear:
    """The same linear with fp16 scales and biases where fp16 holds every fp32 one exactly."""
    assert linear.quant is not None
    arrays = {"scales": linear.scales, "biases": linear.biases}
    halves = {name: _to_fp16(array) for name, array in arrays.items() if array is not None}
    if any(array.dtype != F16 for array in halves.values()):
        return linear
    quant = replace(linear.quant, scale_dtype=ScaleDtype.FP16)
    return replace(linear, quant=quant, scales=halves["scales"], biases=halves.get("biases"))


def _to_fp16(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """float16 where it holds every value (it does most bfloat16 scales), else as given."""
    with np.errstate(over="ignore"):  # what overflows is not equal, and stays as it is
        half = array.astype(np.float16)
    return half if np.array_equal(half.astype(np.float32), array.astype(np.float32)) else array


def _join(shape: tuple[int, int], iter_dense: Blocks) -> Floats:
    weight = np.empty(shape, np.float32)
    for rows, block in iter_dense():
        weight[rows] = block
    return weight


def _refuse_native(name: str) -> Linear:
    raise AssertionError(f"no native scheme holds {name}")
