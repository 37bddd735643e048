"""Holds the exact path to its name: what was stored must decode to the source's own bits."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import numpy as np
import numpy.typing as npt

from app.checkpoint.reference_quant import dequantize, select_rows
from app.checkpoint.schemes import Linear, TensorPath
from app.converter.grids import ConvertedLinear, iter_dense
from app.converter.sources.base import SourceLinear
from app.converter.sources.file_rows import rows_per_block
from app.core.jobs import check_cancelled

Floats = npt.NDArray[np.float32]


# Which bits stand where is proved for every type by tests, for all values; a conversion checks that
# it holds for this file. Decoding all of it twice takes five times as long as taking it apart (50
# instead of 250 MB of Q4_K a second), and a wrong layout shows in any block.
_BLOCK_STRIDE = 16


def verify_exact(
    source: SourceLinear, converted: ConvertedLinear, *, whole: bool = False
) -> ConvertedLinear:
    """Decodes both sides of an exact linear, a block of rows at a time, and compares bits.

    Every block if `whole`, or where the source cannot give single rows (`load_rows`); otherwise the
    first, the last and every sixteenth. One that differs after all is reported as what it is: the
    source's grid, with its error.
    """
    linear = converted.linear
    if converted.path is not TensorPath.EXACT or not isinstance(linear, Linear):
        return converted
    pairs = _iter_pairs(source, linear) if whole else _iter_sample(source, linear)
    if all(
        np.array_equal(found.view(np.uint32), wanted.view(np.uint32)) for found, wanted in pairs
    ):
        return converted
    rel_err = _relative_error(_iter_pairs(source, linear))
    return ConvertedLinear(linear, TensorPath.GRID, rel_err)


def _iter_pairs(source: SourceLinear, linear: Linear) -> Iterator[tuple[Floats, Floats]]:
    """(stored, source), both decoded to float32, for each block of rows."""
    for rows, wanted in iter_dense(source):
        check_cancelled()
        yield dequantize(select_rows(linear, rows)), wanted


def _iter_sample(source: SourceLinear, linear: Linear) -> Iterator[tuple[Floats, Floats]]:
    if source.load_rows is None:
        yield from _iter_pairs(source, linear)
        return
    num_rows, step = source.shape[0], rows_per_block(source.shape[1])
    starts = range(0, num_rows, step)
    for start in {*starts[::_BLOCK_STRIDE], starts[-1]}:
        check_cancelled()
        rows = slice(start, min(start + step, num_rows))
        yield dequantize(select_rows(linear, rows)), source.load_rows(rows)


def _relative_error(pairs: Iterator[tuple[Floats, Floats]]) -> float:
    """||W' - W|| / ||W||, summed in float64."""
    errors = weights = 0.0
    for found, wanted in pairs:
        errors += float(np.square(found.astype(np.float64) - wanted).sum())
        weights += float(np.square(wanted, dtype=np.float64).sum())
    return sqrt(errors / weights) if weights else float(errors > 0)
