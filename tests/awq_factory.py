"""Packs tiny AWQ checkpoints in plain NumPy, written from the layouts' formulas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tests.gguf_factory import TinyModel

Array = npt.NDArray[Any]
_GEMM_COLUMN_OF_NIBBLE = (0, 2, 4, 6, 1, 3, 5, 7)


class Grid(NamedTuple):
    """Codes [out, in], scales and zeros [out, G]: a random 4-bit linear."""

    codes: Array
    scales: Array
    zeros: Array

    @property
    def group_size(self) -> int:
        return self.codes.shape[1] // self.scales.shape[1]

    def weight(self) -> Array:
        """(q - z) * s in float32."""
        zeros = np.repeat(self.zeros, self.group_size, 1).astype(np.float32)
        scales = np.repeat(self.scales, self.group_size, 1).astype(np.float32)
        return (self.codes - zeros) * scales

    def shifted_weight(self) -> Array:
        """q * s + b with b = -s * z rounded to float16, in float32."""
        biases = np.repeat(scaled_zeros(self), self.group_size, 1).astype(np.float32)
        scales = np.repeat(self.scales, self.group_size, 1).astype(np.float32)
        return self.codes.astype(np.float32) * scales + biases


def random_grid(shape: tuple[int, int], group_size: int, seed: int = 0) -> Grid:
    """Every code and zero occurs, scales of both signs and, once, zero."""
    rng = np.random.default_rng(seed)
    groups = (shape[0], shape[1] // group_size)
    scales = rng.uniform(-0.02, 0.02, groups).astype(np.float16)
    scales.flat[0] = 0
    return Grid(rng.integers(0, 16, shape), scales, rng.integers(0, 16, groups))


def scaled_zeros(grid: Grid) -> Array:
    """float16 [out, G]."""
    return (-grid.scales.astype(np.float32) * grid.zeros).astype(np.float16)


def pack_gemm(grid: Grid) -> dict[str, Array]:
    """AutoAWQ's gemm layout."""
    return {
        "qweight": _pack_words(grid.codes.T, _GEMM_COLUMN_OF_NIBBLE),
        "qzeros": _pack_words(grid.zeros.T, _GEMM_COLUMN_OF_NIBBLE),
        "scales": grid.scales.T.copy(),
    }


def pack_gemv(grid: Grid) -> dict[str, Array]:
    """AutoAWQ's gemv layout: padded with ones, which must not be read."""
    width = _padded_groups(grid)
    return {
        "qweight": _pack_words(grid.codes, range(8)),
        "qzeros": _pack_words(_pad(grid.zeros, width), range(8)),
        "scales": _pad(grid.scales, width),
    }


def pack_gemv_fast(grid: Grid) -> dict[str, Array]:
    """AutoAWQ's gemv_fast layout: code (row, column) of each 4 x 64 tile at its nibble."""
    rows, columns = grid.codes.shape
    tiles = grid.codes.reshape(rows // 4, 4, columns // 64, 64).transpose(0, 2, 1, 3)
    nibbles = np.empty((rows // 4, columns // 64, 256), np.uint16)
    for row in range(4):
        for column in range(64):
            nibbles[:, :, 64 * row + _shuffled(column)] = tiles[:, :, row, column]
    words = sum(nibbles[:, :, j::4] << np.uint16(4 * j) for j in range(4))
    width = _padded_groups(grid)
    return {
        "qweight": words.reshape(rows // 4, columns).view(np.int16),
        "qzeros": _pad(scaled_zeros(grid), width).T.copy(),
        "scales": _pad(grid.scales, width).T.copy(),
    }


PACKERS = {"gemm": pack_gemm, "gemv": pack_gemv, "gemv_fast": pack_gemv_fast}


def awq_tensors(
    model: TinyModel, layout: str, group_size: int
) -> tuple[dict[str, Array], dict[str, Grid]]:
    """All tensors of a folder, and the grid of every quantized linear by its stem."""
    tensors: dict[str, Array] = {}
    grids: dict[str, Grid] = {}
    for name, weight in model.weights().items():
        stem = name if name == "lm_head" else f"model.{name}"
        if weight.ndim == 2 and "_proj" in name:
            grids[stem] = random_grid(weight.shape, _width(group_size, weight), len(grids))
            tensors |= prefixed(stem, PACKERS[layout](grids[stem]))
        else:
            full_name = stem if stem.endswith(".bias") else f"{stem}.weight"
            tensors[full_name] = weight.astype(np.float16)
    return tensors, grids


def prefixed(stem: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {f"{stem}.{name}": array for name, array in arrays.items()}


def _width(group_size: int, weight: Array) -> int:
    return weight.shape[1] if group_size == -1 else group_size


def _shuffled(column: int) -> int:
    """Where `pack_intweight` puts a column of 64: pairs by eights, then evens before odds."""
    block, rest = divmod(column, 32)
    eighth, pair, parity = rest // 8, rest % 8 // 2, rest % 2
    position = 8 * pair + 2 * eighth + parity
    return 32 * block + 8 * (position // 8) + 4 * (position % 2) + position % 8 // 2


def _pack_words(codes: Array, column_of_nibble: Any) -> Array:
    """int32 [n, m / 8] of codes [n, m]."""
    eights = codes.astype(np.uint32).reshape(codes.shape[0], -1, 8)
    words = np.zeros(eights.shape[:2], np.uint32)
    for nibble, column in enumerate(column_of_nibble):
        words |= eights[:, :, column] << np.uint32(4 * nibble)
    return words.view(np.int32)


def _padded_groups(grid: Grid) -> int:
    multiple = {32: 4, 64: 2}.get(grid.group_size, 1)
    return -(-grid.scales.shape[1] // (8 * multiple)) * 8 * multiple


def _pad(values: Array, width: int) -> Array:
    missing = width - values.shape[1]
    return np.pad(values, ((0, 0), (0, missing)), constant_values=1)
