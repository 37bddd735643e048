"""Chooses how a weight matrix is stored: exact, on its own grid, requantized or dense.

A linear that costs too much at the bits asked for gets the next more; one that even int8 does not
hold is refused. The report names the first kind, the refusal the second.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import numpy.typing as npt

from app.checkpoint.layout import stored_bytes
from app.checkpoint.schemes import (
    VOCABULARY_BITS,
    Linear,
    QuantScheme,
    Scheme,
    TensorPath,
)
from app.checkpoint.writer import StreamedLinear
from app.converter.requantize import Requantized, SourceMatrix, requantize
from app.converter.sources.base import SourceLinear
from app.core.errors import UnsupportedError, UsageError
from app.core.sentence import Sentence
from app.engine.memory_plan import grid_scheme
from app.spec.weights import VOCABULARY_LINEARS, is_router, stays_dense

Floats = npt.NDArray[np.float32]

GROUP_SIZES = (128, 64, 32)
_FALLBACK_BITS, _FALLBACK_GROUP = 8, 32  # 0.5 % of error on any 4-bit source
_GRID_LIMIT = 1e-3  # below this only scales were rounded: the source's own grid
_DTYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype(np.float32),
    "F16": np.dtype(np.float16),
    "BF16": np.dtype(ml_dtypes.bfloat16),
}

# The relative error above which a linear is not worth its bits and gets more; above the last one it
# is refused. Measured in groups of 128 (tests/converter/test_grid_limits.py): Gaussian weights cost
# 0.19, 0.10 and 0.006 at 3, 4 and 8 bits, heavy-tailed ones (Student-t, 5 degrees of freedom) 0.25,
# 0.14 and 0.009; two columns of 128 that are ten times as large as the others 0.41, 0.26 and 0.018,
# and thirty times 0.022 at 8 bits. So the limits leave alone what is distributed like weights, and
# catch outliers that ruin their groups.
ERROR_LIMITS = {3: 0.30, 4: 0.20, 8: 0.02}


class Grid(StrEnum):
    """What the user asks for."""

    AUTO = "auto"
    EXACT = "exact"
    W4 = "w4"
    W3 = "w3"
    W3W4 = "w3w4"
    W8 = "w8"
    DENSE = "dense"


TARGET_BITS = {Grid.W4: 4, Grid.W3: 3, Grid.W8: 8}


@dataclass(frozen=True, slots=True)
class GridPlan:
    """How one linear will be stored, decided from its header; `reason` says why in a few words.

    `path` REQUANT may turn out better: a source that lies on the target grid converts exactly; or
    larger: what costs more than its bits' ERROR_LIMITS gets more bits, if it `may_grow`.
    """

    path: TensorPath
    quant: QuantScheme | None
    reason: str
    may_grow: bool = True


class ConvertedLinear(NamedTuple):
    """A linear ready to write, the path it took, its relative error against the source."""

    linear: Linear | StreamedLinear
    path: TensorPath
    rel_err: float


def resolve_grid(grid: Grid, source_is_quantized: bool) -> Grid:
    """What `auto` means: exact for quantized sources, w4 for dense ones."""
    if grid is not Grid.AUTO:
        return grid
    return Grid.EXACT if source_is_quantized else Grid.W4


def plan_linear(source: SourceLinear, grid: Grid, group_size: int = 128) -> GridPlan:
    """Decides for one linear under a resolved grid (not w3w4); reads no weights.

    Raises UsageError for a group size other than 32, 64 or 128.
    """
    if group_size not in GROUP_SIZES:
        raise UsageError(
            "Group size {group_size} is not offered; choose 32, 64 or 128.", group_size=group_size
        )
    if grid is Grid.DENSE:
        return GridPlan(TensorPath.DENSE, None, Sentence("dense was asked for"))
    if is_router(source.name):
        return GridPlan(TensorPath.DENSE, None, Sentence("what chooses experts stays dense"))
    if grid not in TARGET_BITS:
        return _plan_exact(source)
    if stays_dense(source.name):
        return GridPlan(
            TensorPath.DENSE, None, Sentence("what decays the state of a head stays dense")
        )
    bits = TARGET_BITS[grid]
    if source.name in VOCABULARY_LINEARS and bits < VOCABULARY_BITS:
        return _plan_vocabulary(source, group_size)
    return _plan_target(source, bits, group_size)


def planned_bytes(source: SourceLinear, plan: GridPlan) -> int:
    """Bytes the linear will take, without its bias."""
    if plan.quant is not None:
        return stored_bytes(plan.quant, source.shape)
    return 4 * source.shape[0] * source.shape[1] if source.is_quantized else source.source_bytes


def convert_linear(
    source: SourceLinear, plan: GridPlan, *, allow_lossy: bool = False
) -> ConvertedLinear:
    """Reads one linear and stores it as planned (a dense one is only read when it is written).

    Raises InvalidSourceError for weights that are not finite, UnsupportedError for a linear that
    even int8 does not hold (unless `allow_lossy`). Memory: the stored result, plus the source's own
    arrays, plus one block of rows; the dense matrix only of a source without `iter_dense`.
    """
    converted = _convert_weight(source, plan, allow_lossy)
    if source.load_bias is None or converted.linear.bias is not None:
        return converted
    return converted._replace(linear=replace(converted.linear, bias=source.load_bias()))


def iter_dense(source: SourceLinear) -> Iterator[tuple[slice, Floats]]:
    """(rows, float32 [n, in]) from first to last, in the least memory that the source offers."""
    if source.iter_dense is not None:
        return source.iter_dense()
    return iter([(slice(0, source.shape[0]), source.load_dense())])


def _plan_exact(source: SourceLinear) -> GridPlan:
    if source.native is not None:
        return GridPlan(
            TensorPath.EXACT,
            source.native,
            Sentence(
                "{source_type} is {label}",
                source_type=source.source_type,
                label=source.native.label,
            ),
        )
    if not source.is_quantized:
        return GridPlan(
            TensorPath.DENSE,
            None,
            Sentence("{source_type} stays as it is", source_type=source.source_type),
        )
    quant = _fitting_scheme(source, _FALLBACK_BITS, _FALLBACK_GROUP)
    return _requant_plan(
        quant, Sentence("no native scheme holds {source_type}", source_type=source.source_type)
    )


def _plan_vocabulary(source: SourceLinear, group_size: int) -> GridPlan:
    """Exact where the source is quantized natively: no larger than int8, and without error."""
    if source.native is not None:
        return _plan_exact(source)
    quant = _fitting_scheme(source, VOCABULARY_BITS, group_size)
    return _requant_plan(quant, Sentence("embeddings and lm_head keep 8 bits"))


def _plan_target(source: SourceLinear, bits: int, group_size: int) -> GridPlan:
    if source.native is not None and _is_on_grid(source.native, bits, group_size):
        return GridPlan(
            TensorPath.EXACT,
            source.native,
            Sentence("{source_type} is on this grid already", source_type=source.source_type),
        )
    quant = _fitting_scheme(source, bits, group_size)
    if quant is None or quant.group_size == group_size:
        return _requant_plan(quant, Sentence("asked for"))
    return _requant_plan(
        quant,
        Sentence(
            "{num_columns} columns are not a multiple of {group_size}",
            num_columns=source.shape[1],
            group_size=group_size,
        ),
    )


def _requant_plan(quant: QuantScheme | None, reason: str) -> GridPlan:
    if quant is None:
        return GridPlan(TensorPath.DENSE, None, Sentence("no group size divides its columns"))
    return GridPlan(TensorPath.REQUANT, quant, f"{reason}: {quant.label}")


def _is_on_grid(native: QuantScheme, bits: int, group_size: int) -> bool:
    """Whether the source is symmetric at these bits, its groups as large: nothing to gain."""
    large = native.group_size == -1 or native.group_size >= group_size
    return native.scheme is Scheme.SYM and native.bits == bits and large


def _fitting_scheme(source: SourceLinear, bits: int, group_size: int) -> QuantScheme | None:
    return grid_scheme(source.name, source.shape[1], bits, group_size)


def _convert_weight(source: SourceLinear, plan: GridPlan, allow_lossy: bool) -> ConvertedLinear:
    if plan.path is TensorPath.EXACT:
        return ConvertedLinear(source.load_native(), TensorPath.EXACT, 0.0)
    if plan.quant is None:
        return ConvertedLinear(_stream(source), TensorPath.DENSE, 0.0)
    result = _requantize(source, plan.quant, plan.may_grow)
    if result.rel_err > ERROR_LIMITS[_FALLBACK_BITS] and _bits(result) == 8 and not allow_lossy:
        raise UnsupportedError(
            "{source_name} would lose {rel_err:.1%} even at 8 bits; use the grid exact or dense, "
            "or accept the loss with --allow-lossy.",
            source_name=source.source_name,
            rel_err=result.rel_err,
        )
    return ConvertedLinear(result.linear, _path_taken(source, result), result.rel_err)


def _requantize(source: SourceLinear, quant: QuantScheme, may_grow: bool) -> Requantized:
    """At the bits of `quant`, or at the next more where those cost more than their limit."""
    matrix = _matrix(source)
    widths = [bits for bits in ERROR_LIMITS if bits >= quant.bits]
    for bits in widths if may_grow else widths[:1]:
        result = requantize(matrix, bits, quant.group_size)
        if result.rel_err <= ERROR_LIMITS[bits]:
            break
    return result


def _bits(result: Requantized) -> int:
    assert result.linear.quant is not None
    return result.linear.quant.bits


def _path_taken(source: SourceLinear, result: Requantized) -> TensorPath:
    if result.is_exact:
        return TensorPath.EXACT
    is_own_grid = source.is_quantized and result.rel_err <= _GRID_LIMIT
    return TensorPath.GRID if is_own_grid else TensorPath.REQUANT


def _matrix(source: SourceLinear) -> SourceMatrix:
    native = source.load_native() if source.native is not None else None
    return SourceMatrix(source.source_name, source.shape, lambda: iter_dense(source), native)


def _stream(source: SourceLinear) -> StreamedLinear:
    """Dense in the source's own dtype, through float32 and back, which changes no bit of it."""
    dtype = _DTYPES["F32" if source.is_quantized else source.source_type]
    return StreamedLinear(
        source.shape, dtype, lambda: (block.astype(dtype) for _, block in iter_dense(source))
    )
