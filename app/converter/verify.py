"""Holds the exact path to its name: what was stored must decode to the source's own bits."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import numpy as np
import numpy.typing as npt

from app.checkpoint.reference_quant import dequantize, select_rows
from app.checkpoint.schemes import Linear, TensorPath
from app.converter.grids import ConvertedLinear
from app.converter.sources.base import SourceLinear

Floats = npt.NDArray[np.float32]


def verify_exact(source: SourceLinear, converted: ConvertedLinear) -> ConvertedLinear:
    """Decodes both sides of an exact linear, block of rows by block of rows, and compares the bits.

    One that differs after all is reported as what it is: the source's grid, with the error that was measured.
    """
    if converted.path is not TensorPath.EXACT:
        return converted
    rel_err = _relative_error(source, converted.linear)
    if rel_err is None:
        return converted
    return ConvertedLinear(converted.linear, TensorPath.GRID, rel_err)


def _relative_error(source: SourceLinear, linear: Linear) -> float | None:
    """||W' - W|| / ||W|| in float64; None when every bit is equal."""
    error_sum = weight_sum = 0.0
    is_equal = True
    for rows, wanted in _iter_dense(source):
        found = dequantize(select_rows(linear, rows))
        if np.array_equal(found.view(np.uint32), wanted.view(np.uint32)):
            weight_sum += _square_sum(wanted)
            continue
        is_equal = False
        error_sum += _square_sum(found - wanted)
        weight_sum += _square_sum(wanted)
    if is_equal:
        return None
    return sqrt(error_sum / weight_sum) if weight_sum else float(error_sum > 0)


def _iter_dense(source: SourceLinear) -> Iterator[tuple[slice, Floats]]:
    if source.iter_dense is not None:
        return source.iter_dense()
    return iter([(slice(0, source.shape[0]), source.load_dense())])


def _square_sum(values: Floats) -> float:
    return float(np.square(values, dtype=np.float64).sum())
