"""Some rows of a stored linear as a linear of its own: a member of a fused stack, a new order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from app.checkpoint.reference_quant import select_rows
from app.checkpoint.schemes import Linear
from app.converter.sources.base import SourceLinear
from app.converter.sources.file_rows import rows_per_block

Rows = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float32]


def take_rows(whole: SourceLinear, name: str, rows: Rows) -> SourceLinear:
    """The linear `name` whose row i is row `rows[i]` of `whole`; bias likewise."""
    load_bias, load_rows = whole.load_bias, whole.load_rows
    return replace(
        whole,
        name=name,
        shape=(len(rows), whole.shape[1]),
        source_bytes=whole.source_bytes * len(rows) // whole.shape[0],
        load_native=partial(_load_native, whole, rows),
        load_dense=partial(_load_dense, whole, rows),
        load_bias=None if load_bias is None else lambda: load_bias()[rows],
        iter_dense=partial(_iter_dense, whole, rows),
        load_rows=None if load_rows is None else partial(_load_rows, whole, rows),
    )


def _load_native(whole: SourceLinear, rows: Rows) -> Linear:
    return select_rows(whole.load_native(), rows)


def _load_dense(whole: SourceLinear, rows: Rows) -> Floats:
    if whole.load_rows is None:
        return whole.load_dense()[rows]
    return np.concatenate([block for _, block in _iter_dense(whole, rows)])


def _iter_dense(whole: SourceLinear, rows: Rows) -> Iterator[tuple[slice, Floats]]:
    if whole.load_rows is None:
        yield slice(0, len(rows)), whole.load_dense()[rows]
        return
    step = rows_per_block(whole.shape[1])
    for start in range(0, len(rows), step):
        part = slice(start, min(start + step, len(rows)))
        yield part, _load_rows(whole, rows, part)


def _load_rows(whole: SourceLinear, rows: Rows, part: slice) -> Floats:
    """As few rows of the whole as hold the wanted ones."""
    assert whole.load_rows is not None
    places = rows[part]
    start = int(places.min())
    return whole.load_rows(slice(start, int(places.max()) + 1))[places - start]
