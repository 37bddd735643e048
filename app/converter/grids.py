"""Chooses how a weight matrix is stored: exact, on its own grid, requantized or dense."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from app.checkpoint.layout import stored_bytes
from app.checkpoint.reference_quant import dequantize, select_rows
from app.checkpoint.schemes import Linear, QuantScheme, ScaleDtype, Scheme, TensorPath
from app.converter.requantize import Requantized, SourceMatrix, requantize
from app.converter.sources.base import SourceLinear
from app.core.errors import UsageError

Floats = npt.NDArray[np.float32]

GROUP_SIZES = (128, 64, 32)
_FALLBACK_BITS, _FALLBACK_GROUP = 8, 32  # 0.5 % of error on any 4-bit source
_GRID_LIMIT = 1e-3  # below this only scales were rounded: the source's own grid
_BLOCK_ROWS = 256


class Grid(StrEnum):
    """What the user asks for."""

    AUTO = "auto"
    EXACT = "exact"
    W4 = "w4"
    W3 = "w3"
    W8 = "w8"
    DENSE = "dense"


_TARGET_BITS = {Grid.W4: 4, Grid.W3: 3, Grid.W8: 8}


@dataclass(frozen=True, slots=True)
class GridPlan:
    """How one linear will be stored, decided from its header; `reason` says why in a few words.

    `path` REQUANT may turn out better: a source that lies on the target grid converts exactly.
    """

    path: TensorPath
    quant: QuantScheme | None
    reason: str


class ConvertedLinear(NamedTuple):
    """A linear ready to write, the path it took, its relative error against the source."""

    linear: Linear
    path: TensorPath
    rel_err: float


def resolve_grid(grid: Grid, source_is_quantized: bool) -> Grid:
    """What `auto` means: exact for quantized sources, w4 for dense ones."""
    if grid is not Grid.AUTO:
        return grid
    return Grid.EXACT if source_is_quantized else Grid.W4


def plan_linear(source: SourceLinear, grid: Grid, group_size: int = 128) -> GridPlan:
    """Decides for one linear under a resolved grid; reads no weights.

    Raises UsageError for a group size other than 32, 64 or 128.
    """
    if group_size not in GROUP_SIZES:
        raise UsageError(f"Group size {group_size} is not offered; choose 32, 64 or 128.")
    if grid is Grid.DENSE:
        return GridPlan(TensorPath.DENSE, None, "dense was asked for")
    if grid in _TARGET_BITS:
        return _plan_target(source, _TARGET_BITS[grid], group_size)
    return _plan_exact(source)


def planned_bytes(source: SourceLinear, plan: GridPlan) -> int:
    """Bytes the linear will take, without its bias."""
    if plan.quant is not None:
        return stored_bytes(plan.quant, source.shape)
    return 4 * source.shape[0] * source.shape[1] if source.is_quantized else source.source_bytes


def convert_linear(source: SourceLinear, plan: GridPlan) -> ConvertedLinear:
    """Reads and stores one linear as planned.

    Raises InvalidSourceError for weights that are not finite. Memory: the stored result, plus the
    source's own arrays, plus the dense matrix only where the source has no native scheme.
    """
    converted = _convert_weight(source, plan)
    if source.load_bias is None or converted.linear.bias is not None:
        return converted
    return converted._replace(linear=replace(converted.linear, bias=source.load_bias()))


def _plan_exact(source: SourceLinear) -> GridPlan:
    if source.native is not None:
        return GridPlan(
            TensorPath.EXACT, source.native, f"{source.source_type} is {source.native.label}"
        )
    if not source.is_quantized:
        return GridPlan(TensorPath.DENSE, None, f"{source.source_type} stays as it is")
    quant = _fitting_scheme(source, _FALLBACK_BITS, _FALLBACK_GROUP)
    return _requant_plan(quant, f"no native scheme holds {source.source_type}")


def _plan_target(source: SourceLinear, bits: int, group_size: int) -> GridPlan:
    if source.native is not None and _is_on_grid(source.native, bits, group_size):
        return GridPlan(
            TensorPath.EXACT, source.native, f"{source.source_type} is on this grid already"
        )
    quant = _fitting_scheme(source, bits, group_size)
    if quant is None or quant.group_size == group_size:
        return _requant_plan(quant, "asked for")
    return _requant_plan(quant, f"{source.shape[1]} columns are not a multiple of {group_size}")


def _requant_plan(quant: QuantScheme | None, reason: str) -> GridPlan:
    if quant is None:
        return GridPlan(TensorPath.DENSE, None, "no group size divides its columns")
    return GridPlan(TensorPath.REQUANT, quant, f"{reason}: {quant.label}")


def _is_on_grid(native: QuantScheme, bits: int, group_size: int) -> bool:
    """Whether the source is symmetric at these bits, its groups as large: nothing to gain."""
    large = native.group_size == -1 or native.group_size >= group_size
    return native.scheme is Scheme.SYM and native.bits == bits and large


def _fitting_scheme(source: SourceLinear, bits: int, group_size: int) -> QuantScheme | None:
    """Symmetric, with the largest group up to `group_size` that divides the columns."""
    sizes = [
        size for size in (128, 64, 32, 16) if size <= group_size and source.shape[1] % size == 0
    ]
    return QuantScheme(bits, sizes[0], Scheme.SYM, ScaleDtype.FP16) if sizes else None


def _convert_weight(source: SourceLinear, plan: GridPlan) -> ConvertedLinear:
    if plan.path is TensorPath.EXACT:
        return ConvertedLinear(source.load_native(), TensorPath.EXACT, 0.0)
    if plan.quant is None:
        weight = source.load_raw() if source.load_raw is not None else source.load_dense()
        return ConvertedLinear(Linear(source.shape, weight=weight), TensorPath.DENSE, 0.0)
    result = requantize(_matrix(source), plan.quant.bits, plan.quant.group_size)
    return ConvertedLinear(result.linear, _path_taken(source, result), result.rel_err)


def _path_taken(source: SourceLinear, result: Requantized) -> TensorPath:
    if result.is_exact:
        return TensorPath.EXACT
    is_own_grid = source.is_quantized and result.rel_err <= _GRID_LIMIT
    return TensorPath.GRID if is_own_grid else TensorPath.REQUANT


def _matrix(source: SourceLinear) -> SourceMatrix:
    native = source.load_native() if source.native is not None else None
    blocks = partial(_iter_blocks, source, native)
    return SourceMatrix(source.source_name, source.shape, blocks, native)


def _iter_blocks(source: SourceLinear, native: Linear | None) -> Iterator[tuple[slice, Floats]]:
    """The source's weights in float32, from whatever decodes them in the least memory."""
    if native is None and source.load_raw is None and source.iter_dense is not None:
        yield from source.iter_dense()
        return
    weight = native or Linear(source.shape, weight=(source.load_raw or source.load_dense)())
    for start in range(0, source.shape[0], _BLOCK_ROWS):
        rows = slice(start, min(start + _BLOCK_ROWS, source.shape[0]))
        yield rows, dequantize(select_rows(weight, rows))
