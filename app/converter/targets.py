"""Which native form each linear gets under a grid, decided from headers alone."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from app.checkpoint.layout import linear_layout
from app.checkpoint.schemes import QuantScheme, TensorPath
from app.converter.sources.base import Source, SourceLinear
from app.core.errors import UnsupportedError, UsageError

GRIDS = ("auto", "exact", "w4", "w3", "w8", "dense")


@dataclass(frozen=True, slots=True)
class Target:
    """`quant` None keeps the linear dense."""

    quant: QuantScheme | None
    path: TensorPath

    def num_bytes(self, linear: SourceLinear) -> int:
        """Bytes of the arrays on disk."""
        if self.quant is None:
            itemsize = 4 if linear.is_quantized else linear.source_bytes // prod(linear.shape)
            return prod(linear.shape) * itemsize
        layout = linear_layout(self.quant, linear.shape)
        return sum(
            prod(a.shape) * np.dtype(a.dtypes[0]).itemsize for a in layout.values() if a.required
        )

    def label(self, linear: SourceLinear) -> str:
        """For people: `int4 affine g32`, or the dtype that is kept."""
        if self.quant is not None:
            return self.quant.label
        return "F32" if linear.is_quantized else linear.source_type


def resolve_grid(grid: str, source: Source) -> str:
    """`auto` is the source's own grid where it has one, else 4 bits. UsageError for an unknown name."""
    if grid not in GRIDS:
        raise UsageError(f"The grid {grid!r} is not known; known are {', '.join(GRIDS)}.")
    if grid != "auto":
        return grid
    return "exact" if source.is_quantized else "w4"


def find_target(linear: SourceLinear, grid: str, group_size: int) -> Target:
    """The target of one linear under a resolved grid."""
    if grid == "dense" or (grid == "exact" and not linear.is_quantized):
        return Target(None, TensorPath.DENSE)
    if grid == "exact" and linear.native is not None:
        return Target(linear.native, TensorPath.EXACT)
    raise UnsupportedError(f"The grid {grid} is not available for {linear.source_type} yet.")
