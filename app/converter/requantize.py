"""Error-searched requantization of a whole weight matrix, row chunk by row chunk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.checkpoint.bits import pack_codes
from app.checkpoint.reference_quant import dequantize, effective_scales, select_rows
from app.checkpoint.schemes import Linear, QuantScheme, ScaleDtype, Scheme
from app.converter.grid_search import round_to_codes, search_scales
from app.core.errors import InvalidSourceError

Floats = npt.NDArray[np.float32]

_CHUNK_ELEMENTS = 1 << 16  # 256 KiB of float32: the search's buffers stay in the second-level cache
# Between these magnitudes an fp16 scale is off by less than a hundredth of the quantization error.
_FP16_RANGE = (2.0**-18, 65504.0)


@dataclass(frozen=True, slots=True)
class WeightRows:
    """A weight matrix to requantize: `read` gives rows as float32 [n, in] of what the source decodes to.

    `native` is the same matrix on the source's own grid, where there is one: its scales join the search.
    """

    name: str
    shape: tuple[int, int]
    read: Callable[[slice], Floats]
    native: Linear | None = None


@dataclass(frozen=True, slots=True)
class Requantized:
    """The result: relative Frobenius error against the source, and whether it decodes bit for bit."""

    linear: Linear
    rel_err: float
    is_exact: bool


class _ErrorSum:
    """Sums squared error and squared weight over chunks."""

    def __init__(self) -> None:
        self._error = self._weight = 0.0
        self.is_exact = True

    def add(self, weights: Floats, decoded: Floats) -> None:
        """Adds a chunk: the source's rows and what ours decode to, float32 [rows, in]."""
        self.is_exact = self.is_exact and decoded.tobytes() == weights.tobytes()
        unit = np.abs(weights).max() or np.float32(1)  # squares of float32 weights could overflow
        self._weight += _sum_of_squares(weights / unit) * float(unit) ** 2
        self._error += _sum_of_squares((decoded - weights) / unit) * float(unit) ** 2

    @property
    def relative(self) -> float:
        """||W' - W|| / ||W||."""
        return float(np.sqrt(self._error / self._weight)) if self._weight else 0.0


def _sum_of_squares(values: Floats) -> float:
    """Row sums in float32, their sum in float64; not BLAS, whose result depends on its thread count."""
    return float(np.einsum("ri,ri->r", values, values).sum(dtype=np.float64))


def requantize(rows: WeightRows, bits: int, group_size: int) -> Requantized:
    """Puts `rows` on the symmetric grid of `bits` and `group_size`, which must divide `in`.

    Scales are fp16, or fp32 where a group's scale lies outside what fp16 holds well. Needs the packed result
    and a few chunks of rows. Raises InvalidSourceError for weights that are not finite.
    """
    out_features, in_features = rows.shape
    layout = QuantScheme(bits, group_size, Scheme.SYM, ScaleDtype.FP32)
    packed = np.empty((out_features, layout.row_bytes(in_features)), np.uint8)
    scales = np.empty((out_features, layout.num_groups(in_features)), np.float32)
    errors = _ErrorSum()
    step = max(1, _CHUNK_ELEMENTS // in_features)
    for start in range(0, out_features, step):
        chunk = slice(start, min(start + step, out_features))
        weights = _finite_rows(rows, chunk)
        codes, scales[chunk] = _quantize_chunk(
            weights, layout, _source_scales(rows.native, chunk, layout)
        )
        packed[chunk] = pack_codes(codes, bits)
        stored = Linear(weights.shape, layout, packed=packed[chunk], scales=scales[chunk])
        errors.add(weights, dequantize(stored))
    return Requantized(
        _assemble(layout, rows.shape, packed, scales), errors.relative, errors.is_exact
    )


def _finite_rows(rows: WeightRows, chunk: slice) -> Floats:
    weights = rows.read(chunk)
    if not np.isfinite(weights).all():
        raise InvalidSourceError(f"{rows.name} holds weights that are not finite numbers.")
    return weights


def _quantize_chunk(
    weights: Floats, layout: QuantScheme, source_scales: Floats | None
) -> tuple[npt.NDArray[np.int8], Floats]:
    """Codes int8 [rows, in] and scales float32 [rows, G], already rounded to fp16 where fp16 holds them."""
    groups = weights.reshape(-1, layout.group_size)
    found = search_scales(groups, layout.bits, source_scales)
    scales = np.where(_fits_fp16(found), _to_fp16(found).astype(np.float32), found)
    codes = round_to_codes(groups, scales, layout.bits)
    return codes.reshape(weights.shape), scales.reshape(len(weights), -1)


def _source_scales(native: Linear | None, chunk: slice, layout: QuantScheme) -> Floats | None:
    """The source's own scale for each of our groups [n], of several the largest; None where there is none."""
    if (
        native is None
        or native.quant is None
        or native.perm is not None
        or native.quant.bits > layout.bits
    ):
        return None
    part = select_rows(native, chunk)
    scales, _ = effective_scales(part)
    width = native.shape[1] if native.quant.group_size == -1 else native.quant.group_size
    columns = np.arange(0, native.shape[1], min(width, layout.group_size)) // width
    per_group = scales[:, columns].reshape(len(scales), native.shape[1] // layout.group_size, -1)
    largest = np.abs(per_group).argmax(axis=-1)[..., None]
    return np.take_along_axis(per_group, largest, axis=-1).reshape(-1)


def _fits_fp16(scales: Floats) -> npt.NDArray[np.bool_]:
    low, high = _FP16_RANGE
    magnitude = np.abs(scales)
    return np.asarray((scales == 0) | ((magnitude >= low) & (magnitude <= high)))


def _to_fp16(scales: Floats) -> npt.NDArray[np.float16]:
    with np.errstate(over="ignore"):
        return scales.astype(np.float16)


def _assemble(
    layout: QuantScheme, shape: tuple[int, int], packed: npt.NDArray[np.uint8], scales: Floats
) -> Linear:
    if not _fits_fp16(scales).all():
        return Linear(shape, layout, packed=packed, scales=scales)
    quant = QuantScheme(layout.bits, layout.group_size, Scheme.SYM, ScaleDtype.FP16)
    return Linear(shape, quant, packed=packed, scales=_to_fp16(scales))
