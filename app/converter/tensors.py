"""One linear from source to native arrays, with the error that this cost measured on the data itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
import numpy.typing as npt

from app.checkpoint.reference_quant import dequantize, select_rows
from app.checkpoint.schemes import Linear, TensorPath
from app.converter.sources.base import SourceLinear
from app.converter.targets import Target

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ConvertedLinear:
    """`rel_err` is ||W' - W|| / ||W|| against the source's own decoding; 0.0 means every bit is equal."""

    linear: Linear
    path: TensorPath
    rel_err: float


def convert_linear(source: SourceLinear, target: Target) -> ConvertedLinear:
    """Reads and converts a linear; InvalidSourceError when its data is damaged."""
    converted = _convert(source, target)
    if source.load_bias is None:
        return converted
    return replace(converted, linear=replace(converted.linear, bias=source.load_bias()))


def _convert(source: SourceLinear, target: Target) -> ConvertedLinear:
    if target.path is TensorPath.DENSE:
        weight = source.load_raw() if source.load_raw else source.load_dense()
        return ConvertedLinear(Linear(source.shape, weight=weight), TensorPath.DENSE, 0.0)
    return _checked(source.load_native(), source)


def _checked(linear: Linear, source: SourceLinear) -> ConvertedLinear:
    """Holds the exact path to its name: decodes both sides block by block and compares the bits."""
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
        return ConvertedLinear(linear, TensorPath.EXACT, 0.0)
    return ConvertedLinear(linear, TensorPath.GRID, sqrt(error_sum / weight_sum))


def _iter_dense(source: SourceLinear) -> Iterator[tuple[slice, Floats]]:
    if source.iter_dense is not None:
        return source.iter_dense()
    return iter([(slice(0, source.shape[0]), source.load_dense())])


def _square_sum(values: Floats) -> float:
    return float(np.square(values, dtype=np.float64).sum())
