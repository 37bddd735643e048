"""A stored linear whose columns stand in another order than the model's input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from app.checkpoint.schemes import Linear
from app.converter.sources.base import SourceLinear
from app.converter.sources.taken_rows import Floats, Rows


def take_columns(whole: SourceLinear, columns: Rows) -> SourceLinear:
    """The linear whose column i is column `columns[i]` of `whole`.

    On its own grid it keeps the stored order and says so in `perm`. Where groups move as wholes the
    conversion then sorts them, and nothing is left of it (`permutations.settle_permutations`).
    """
    iter_dense, load_rows = whole.iter_dense, whole.load_rows
    return replace(
        whole,
        load_native=partial(_load_native, whole, columns),
        load_dense=lambda: np.ascontiguousarray(whole.load_dense()[:, columns]),
        iter_dense=None if iter_dense is None else partial(_iter_dense, whole, columns),
        load_rows=None if load_rows is None else lambda rows: load_rows(rows)[:, columns],
    )


def _load_native(whole: SourceLinear, columns: Rows) -> Linear:
    linear = whole.load_native()
    assert linear.perm is None, "whoever has an order of its own has no other"
    return replace(linear, perm=np.argsort(columns).astype(np.int32))


def _iter_dense(whole: SourceLinear, columns: Rows) -> Iterator[tuple[slice, Floats]]:
    assert whole.iter_dense is not None
    for rows, block in whole.iter_dense():
        yield rows, np.ascontiguousarray(block[:, columns])
