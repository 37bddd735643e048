"""What the formats of quantized linears share: the lazy source, its scales, fp16 where it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import ml_dtypes
import numpy as np
import numpy.typing as npt

from app.checkpoint.layout import F16
from app.checkpoint.schemes import Linear, QuantScheme, ScaleDtype
from app.converter.sources.base import SourceLinear
from app.converter.sources.dense import load_float_vector, load_floats
from app.converter.sources.file_rows import rows_per_block
from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.linear_format import LinearPlace
from app.core.errors import InvalidSourceError
from app.core.jobs import check_cancelled

Floats = npt.NDArray[np.float32]
_LIMIT = 1e15  # squares summed over a row still fit float32
_EXPONENTS = (np.dtype(np.uint8), np.dtype(ml_dtypes.float8_e8m0fnu))
Blocks = Callable[[], Iterator[tuple[slice, Floats]]]
Rows = Callable[[slice], Floats]
Steps = TypeVar("Steps")


def create_quantized_linear(
    place: LinearPlace,
    source_type: str,
    stored: Sequence[StoredArray],
    load_rows: Rows,
    native: tuple[QuantScheme, Callable[[], Linear]] | None = None,
    iter_dense: Blocks | None = None,
) -> SourceLinear:
    """A linear of the arrays `stored`, the weight first.

    `load_rows` gives some rows, float32 [n, in]; `native`, where a scheme holds the linear, that
    scheme and its loader; `iter_dense` (rows, block of rows) from first to last, for formats that
    read something once for all of them.
    """
    weight = stored[0].name
    iter_dense = iter_dense or partial(_iter_blocks, place.shape, load_rows)
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


def share_steps(
    shape: tuple[int, int],
    load_steps: Callable[[], Steps],
    decode: Callable[[Steps, slice], Floats],
) -> tuple[Rows, Blocks]:
    """`load_rows` and `iter_dense` of a format that decodes rows with steps (scales, zeros) which
    are read once for all of them."""

    def load_rows(rows: slice) -> Floats:
        return decode(load_steps(), rows)

    def iter_dense() -> Iterator[tuple[slice, Floats]]:
        return _iter_blocks(shape, partial(decode, load_steps()))

    return load_rows, iter_dense


def load_scales(stored: StoredArray) -> Floats:
    """Float scales as float32 in their own shape; refused unless finite and of sane size."""
    scales = load_floats(stored).astype(np.float32).reshape(stored.shape)
    check_size(scales, stored)
    return scales


def check_size(scales: Floats, stored: StoredArray) -> None:
    """InvalidSourceError for scales that no trained weight has: products stay finite."""
    if not (np.abs(scales) <= _LIMIT).all():  # so written, NaN fails too
        raise InvalidSourceError(
            "{stored} is damaged: it holds an absurdly large scale.", stored=stored.name
        )


def load_exponents(stored: StoredArray) -> Floats:
    """E8M0 scales, 2 ** (code - 127), as float32; refused where a code means NaN (255).

    OCP Microscaling Formats v1.0, 5.4.1: eight exponent bits, no sign, no infinity.
    """
    if stored.dtype not in _EXPONENTS:
        raise InvalidSourceError(
            "{stored} is {dtype}, which scales never are.", stored=stored.name, dtype=stored.dtype
        )
    codes = stored.load().view(np.uint8)
    if (codes == 255).any():
        raise InvalidSourceError(
            "{stored} is damaged: it holds a scale that is NaN.", stored=stored.name
        )
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


def iter_row_slices(shape: tuple[int, int]) -> Iterator[slice]:
    """Blocks of rows from first to last; JobCancelledError between two of them."""
    step = rows_per_block(shape[1])
    for start in range(0, shape[0], step):
        check_cancelled()
        yield slice(start, min(start + step, shape[0]))


def _iter_blocks(shape: tuple[int, int], load_rows: Rows) -> Iterator[tuple[slice, Floats]]:
    for rows in iter_row_slices(shape):
        yield rows, load_rows(rows)


def _join(shape: tuple[int, int], iter_dense: Blocks) -> Floats:
    weight = np.empty(shape, np.float32)
    for rows, block in iter_dense():
        weight[rows] = block
    return weight


def _refuse_native(name: str) -> Linear:
    raise AssertionError(f"no native scheme holds {name}")
