"""Error-searched requantization of a whole weight matrix, in chunks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from app.checkpoint.bits import pack_codes
from app.checkpoint.reference_quant import effective_scales, select_rows
from app.checkpoint.schemes import Linear, QuantScheme, ScaleDtype, Scheme
from app.converter.grid_search import round_to_grid, search_scales
from app.core.errors import InvalidSourceError
from app.core.jobs import check_cancelled

Floats = npt.NDArray[np.float32]

_CHUNK_ELEMENTS = 1 << 16  # 256 KiB of float32: the search's buffers stay in the second-level cache
_LIMIT = 1e15  # far above any trained weight; squares summed over a row still fit float32
# Here rounding a scale to fp16 costs less than the quantization error; other tensors get fp32.
_FP16_RANGE = (2.0**-18, 65504.0)


@dataclass(frozen=True, slots=True)
class SourceMatrix:
    """A matrix to requantize.

    `iter_blocks` gives (rows, float32 [n, in]) from first to last row, as the source decodes them.
    `native` is the same matrix on the source's own grid, where it has one: its scales compete.
    """

    name: str
    shape: tuple[int, int]
    iter_blocks: Callable[[], Iterator[tuple[slice, Floats]]]
    native: Linear | None = None


@dataclass(frozen=True, slots=True)
class Requantized:
    """`rel_err` is ||W' - W|| / ||W||; `is_exact` says that every decoded bit is equal."""

    linear: Linear
    rel_err: float
    is_exact: bool


def requantize(matrix: SourceMatrix, bits: int, group_size: int) -> Requantized:
    """Puts a matrix on the symmetric grid of `bits` and `group_size`, which must divide `in`.

    Scales are fp16, or fp32 where fp16 does not hold one of them. Memory: the result and one block.
    Raises InvalidSourceError for weights that are not finite or absurdly large, JobCancelledError
    between two chunks of rows.
    """
    target, errors = _Target(matrix.shape, bits, group_size), _ErrorSum()
    for rows, block in matrix.iter_blocks():
        step = max(1, _CHUNK_ELEMENTS // matrix.shape[1])
        for start in range(0, len(block), step):
            check_cancelled()
            weights = _checked(block[start : start + step], matrix.name)
            first = rows.start + start
            chunk = slice(first, first + len(weights))
            errors.add(weights, target.store(chunk, weights, matrix.native))
    return Requantized(target.linear(), errors.relative, errors.is_exact)


def _checked(weights: Floats, name: str) -> Floats:
    if not np.abs(weights).max() <= _LIMIT:  # so written, NaN fails too
        raise InvalidSourceError(
            "{name} holds weights that are not finite or absurdly large.", name=name
        )
    return weights


class _Target:
    """The arrays of the result, filled chunk by chunk."""

    def __init__(self, shape: tuple[int, int], bits: int, group_size: int) -> None:
        quant = QuantScheme(bits, group_size, Scheme.SYM, ScaleDtype.FP32)
        packed = np.empty((shape[0], quant.row_bytes(shape[1])), np.uint8)
        scales = np.empty((shape[0], quant.num_groups(shape[1])), np.float32)
        self._quant, self._packed, self._scales = quant, packed, scales
        self._linear = Linear(shape, quant, packed=packed, scales=scales)

    def store(self, rows: slice, weights: Floats, native: Linear | None) -> Floats:
        """Quantizes `weights` float32 [n, in] into `rows`; returns what they decode to now."""
        groups = weights.reshape(-1, self._quant.group_size)
        competing = None if native is None else _source_scales(native, rows, self._quant)
        found = search_scales(groups, self._quant.bits, competing)
        scales = np.where(_fits_fp16(found), _to_fp16(found).astype(np.float32), found)
        codes, decoded = round_to_grid(groups, scales, self._quant.bits)
        self._packed[rows] = pack_codes(codes.reshape(weights.shape), self._quant.bits)
        self._scales[rows] = scales.reshape(len(weights), -1)
        return decoded.reshape(weights.shape)

    def linear(self) -> Linear:
        """The whole result, with fp16 scales where fp16 holds all of them."""
        if not _fits_fp16(self._scales).all():
            return self._linear
        quant = replace(self._quant, scale_dtype=ScaleDtype.FP16)
        return replace(self._linear, quant=quant, scales=_to_fp16(self._scales))


class _ErrorSum:
    """Sums squared error and squared weight over chunks."""

    def __init__(self) -> None:
        self._error = self._weight = 0.0
        self.is_exact = True

    def add(self, weights: Floats, decoded: Floats) -> None:
        """Adds a chunk: the source's rows and what ours decode to, float32 [n, in]."""
        self._weight += _sum_of_squares(weights)
        error = _sum_of_squares(decoded - weights)
        self._error += error
        # Equal numbers are not yet equal bits (minus zero), and tiny errors have squares of zero.
        self.is_exact = self.is_exact and not error and decoded.tobytes() == weights.tobytes()

    @property
    def relative(self) -> float:
        """||W' - W|| / ||W||."""
        return float(np.sqrt(self._error / self._weight)) if self._weight else 0.0


def _sum_of_squares(values: Floats) -> float:
    """Row sums in float32, then float64. Not BLAS, whose result depends on its threads."""
    return float(np.einsum("ri,ri->r", values, values).sum(dtype=np.float64))


def _source_scales(native: Linear, rows: slice, quant: QuantScheme) -> Floats | None:
    """The source's own scale for each of our groups [n], of several the largest."""
    if native.quant is None or native.perm is not None or native.quant.bits > quant.bits:
        return None
    in_features, group_size = native.shape[1], native.quant.group_size
    width = in_features if group_size == -1 else group_size
    scales, _ = effective_scales(select_rows(native, rows))
    # One entry for each piece of a row that lies in one source group and in one of ours.
    of_piece = np.arange(0, in_features, min(width, quant.group_size)) // width
    pieces = scales[:, of_piece].reshape(len(scales) * quant.num_groups(in_features), -1)
    largest = np.abs(pieces).argmax(axis=1)[:, None]
    return np.take_along_axis(pieces, largest, axis=1)[:, 0]


def _fits_fp16(scales: Floats) -> npt.NDArray[np.bool_]:
    low, high = _FP16_RANGE
    magnitude = np.abs(scales)
    return np.asarray((scales == 0) | ((magnitude >= low) & (magnitude <= high)))


def _to_fp16(scales: Floats) -> npt.NDArray[np.float16]:
    with np.errstate(over="ignore"):  # what overflows is not used
        return scales.astype(np.float16)
