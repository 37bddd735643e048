"""The integer grids that other engines load, and a native linear put on one of them exactly."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from app.checkpoint.reference_quant import effective_scales, unpacked_codes
from app.checkpoint.schemes import Linear, QuantScheme, Scheme

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.uint8]
_ROW = -1


class ExportGrid(NamedTuple):
    """Unsigned codes of `bits`, a scale for each `group_size` columns (-1: each row).

    Symmetric means a zero point of 2 ** (bits - 1) everywhere, which is not stored.
    """

    bits: int
    group_size: int
    is_symmetric: bool


class GridArrays(NamedTuple):
    """W = (codes - zeros) * scales: codes [out, in] in stored order, scales and zeros [out, G]."""

    codes: Codes
    scales: Array
    zeros: Codes


def grid_of(quant: QuantScheme) -> ExportGrid:
    """The grid of a symmetric or zero-point scheme."""
    return ExportGrid(quant.bits, quant.group_size, quant.scheme is Scheme.SYM)


def common_grid(grids: Iterable[ExportGrid]) -> ExportGrid:
    """The smallest grid that holds all of them: what linears need that engines fuse into one."""
    all_grids = set(grids)
    sizes = {grid.group_size for grid in all_grids}
    return ExportGrid(
        bits=max(grid.bits for grid in all_grids),
        group_size=_ROW if sizes == {_ROW} else min(sizes - {_ROW}),
        is_symmetric=all(grid.is_symmetric for grid in all_grids),
    )


def put_on_grid(linear: Linear, grid: ExportGrid) -> GridArrays:
    """The same weights on `grid`, which must hold the linear's own: wider, finer, with zeros."""
    assert linear.quant is not None
    codes, zeros = unpacked_codes(linear), linear.zeros
    scales, _ = effective_scales(linear)
    if zeros is None:  # symmetric: signed codes
        centre = 1 << (grid.bits - 1)
        codes = (codes.astype(np.int16) + centre).astype(np.uint8)
        zeros = np.full(scales.shape, centre, np.uint8)
    size = linear.quant.group_size
    return GridArrays(codes, *(_refine(v, linear.shape[1], size, grid) for v in (scales, zeros)))


def _refine(values: Array, in_features: int, group_size: int, grid: ExportGrid) -> Array:
    """[out, G] for the groups of `grid`, each of which lies in one group of the source."""
    width = in_features if group_size == _ROW else group_size
    step = in_features if grid.group_size == _ROW else grid.group_size
    return np.ascontiguousarray(values[:, np.arange(0, in_features, step) // width])
