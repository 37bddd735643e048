"""The shapes of AWQ's three layouts, which alone tell them apart: labels do not.

AutoAWQ: awq/modules/linear/{gemm,gemv,gemv_fast}.py; llm-awq: awq/quantize/qmodule.py. All hold
4-bit codes and divide the input into groups of `group_size` columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.checkpoint.layout import I32

Shape = tuple[int, int]
I16 = np.dtype(np.int16)
_CODES_PER_WORD = 8


@dataclass(frozen=True, slots=True)
class AwqShapes:
    """What the arrays of one linear must look like."""

    qweight: Shape
    scales: Shape
    zeros: Shape


@dataclass(frozen=True, slots=True)
class AwqLayout:
    """`create_shapes` takes [out, in] and the group size; [out, in] is made of whole `tile`s."""

    name: str
    dtype: np.dtype[Any]  # of qweight
    tile: Shape
    create_shapes: Callable[[Shape, int], AwqShapes]

    def shapes(self, shape: Shape, group_size: int) -> AwqShapes | None:
        """None for a linear that this layout cannot hold."""
        (rows, columns), (tile_rows, tile_columns) = shape, self.tile
        if rows % tile_rows or columns % tile_columns or columns % group_size:
            return None
        return self.create_shapes(shape, group_size)


def _gemm_shapes(shape: Shape, group_size: int) -> AwqShapes:
    (rows, columns), groups = shape, shape[1] // group_size
    words = rows // _CODES_PER_WORD
    return AwqShapes((columns, words), (groups, rows), (groups, words))


def _gemv_shapes(shape: Shape, group_size: int) -> AwqShapes:
    rows, columns = shape
    width = zeros_width(columns, group_size)
    words = columns // _CODES_PER_WORD
    return AwqShapes((rows, words), (rows, width * _CODES_PER_WORD), (rows, width))


def _gemv_fast_shapes(shape: Shape, group_size: int) -> AwqShapes:
    rows, columns = shape
    per_group = (zeros_width(columns, group_size) * _CODES_PER_WORD, rows)
    return AwqShapes((rows // 4, columns), per_group, per_group)


GEMM = AwqLayout("gemm", I32, (8, 2), _gemm_shapes)
GEMV = AwqLayout("gemv", I32, (1, 8), _gemv_shapes)
GEMV_FAST = AwqLayout("gemv_fast", I16, (4, 64), _gemv_fast_shapes)
LAYOUTS = (GEMM, GEMV, GEMV_FAST)


def zeros_width(in_features: int, group_size: int) -> int:
    """Words of eight zeros in a row: more than there are groups, as small groups are padded."""
    words = -(-(in_features // group_size) // _CODES_PER_WORD)
    multiple = 1 if group_size >= 128 else 2 if group_size >= 64 else 4
    return -(-words // multiple) * multiple
