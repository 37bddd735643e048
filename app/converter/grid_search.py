"""The scale of least squared error for groups of weights on a symmetric grid of 3, 4 or 8 bits.

For codes q and weights x the best scale is sum(q x) / sum(q q), and it lowers the squared error by
sum(q x)^2 / sum(q q): that gain is what candidates compete on. Plain absmax / 7 costs a fifth more
error at 4 bits and a third more at 3 bits than what is found here
(tests/converter/test_grid_search.py measures it).

This is the definition, to the bit: `kernels.cpu.conversion` does the same ten times as fast where
its library is at hand. So sums over a group run in sixteen lanes, then by halves.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kernels.cpu import conversion
from kernels.cpu.loader import is_available

Floats = npt.NDArray[np.float32]

# Where the weight of greatest magnitude falls on the grid: at its long end, inside it, or clipped.
# Finer steps gain less than half a percent of error, on Gaussian and on Student-t weights.
LEVELS = {3: (3.2, 3.7, 4.3, 5.0, 5.8), 4: (7.0, 7.6, 8.3, 9.2, 10.5), 8: (127.0, 128.0)}


class GroupSearch:
    """Finds a scale for each of `n` groups of `g` weights: the best of the candidates tried."""

    def __init__(self, weights: Floats, bits: int) -> None:
        """weights float32 [n, g], all finite."""
        self._low, self._high = code_range(bits)
        # In units of each group's greatest magnitude nothing overflows, however large the weights.
        magnitude = np.abs(weights).max(axis=1)
        self._unit: Floats = np.where(magnitude > 0, magnitude, np.float32(1))
        self._weights = weights / self._unit[:, None]
        self._codes = np.empty_like(weights)
        self._gains: Floats = np.full(len(weights), -1, np.float32)
        self._scales: Floats = np.zeros(len(weights), np.float32)

    def try_levels(self, bits: int) -> None:
        """Tries all magnitudes, the long end at the extreme weight; then the other sign."""
        reaches_down = self._weights.min(axis=1) <= -1
        toward_negative_end: Floats = np.where(reaches_down, np.float32(1), np.float32(-1))
        for level in LEVELS[bits]:
            self._try(toward_negative_end / np.float32(level))
        self._try(-self._scales)

    def try_scales(self, scales: Floats) -> None:
        """Tries given scales float32 [n] with both signs (the source's own)."""
        with np.errstate(over="ignore"):  # an infinite scale makes all codes 0, and loses
            relative = scales / self._unit
        self._try(relative)
        self._try(-relative)

    def scales(self) -> Floats:
        """The best scales float32 [n] after one more refit; 0 for groups of zeros."""
        self._try(self._scales)
        return self._scales * self._unit

    def _try(self, scales: Floats) -> None:
        """Rounds to codes with these scales, refits the scales, keeps those of larger gain."""
        usable = np.abs(scales) > 1e-6  # far below any grid; also keeps the reciprocal finite
        inverse = np.divide(np.float32(1), scales, out=np.zeros_like(scales), where=usable)
        codes = np.multiply(self._weights, inverse[:, None], out=self._codes)
        np.clip(np.rint(codes, out=codes), self._low, self._high, out=codes)
        square: Floats = np.einsum("ng,ng->n", codes, codes)  # whole numbers: exact in any order
        codes *= self._weights
        dot = _sum_in_lanes(codes)
        fitted = np.divide(dot, square, out=np.zeros_like(dot), where=square > 0)
        better = dot * fitted > self._gains
        np.copyto(self._gains, dot * fitted, where=better)
        np.copyto(self._scales, fitted, where=better)


def code_range(bits: int) -> tuple[int, int]:
    """The least and the greatest two's-complement code."""
    return -(1 << bits - 1), (1 << bits - 1) - 1


def search_scales(weights: Floats, bits: int, source_scales: Floats | None = None) -> Floats:
    """Scales float32 [n] of least squared error for weights float32 [n, g], g a multiple of 16.

    `source_scales` float32 [n], the source's own, compete too.
    """
    if is_available():
        return conversion.search_scales(weights, bits, LEVELS[bits], source_scales)
    search = GroupSearch(weights, bits)
    search.try_levels(bits)
    if source_scales is not None:
        search.try_scales(source_scales)
    return search.scales()


def round_to_grid(
    weights: Floats, scales: Floats, bits: int
) -> tuple[npt.NDArray[np.int8], Floats]:
    """The nearest codes int8 [n, g] of weights [n, g] under scales [n] (0 where the scale is 0),
    and what they decode to, float32 [n, g]."""
    if is_available():
        return conversion.round_to_grid(weights, scales, bits)
    low, high = code_range(bits)
    divisor = np.where(scales == 0, np.float32(np.inf), scales)[:, None]
    codes = np.clip(np.rint(weights / divisor), low, high).astype(np.int8)
    return codes, codes.astype(np.float32) * scales[:, None]


def _sum_in_lanes(values: Floats) -> Floats:
    """Sums [n] of [n, g]: every sixteenth column, then what is eight, four, two and one apart."""
    lanes = values[:, : conversion.LANES].copy()
    for start in range(conversion.LANES, values.shape[1], conversion.LANES):
        lanes += values[:, start : start + conversion.LANES]
    while (half := lanes.shape[1] // 2) > 0:
        lanes = lanes[:, :half] + lanes[:, half:]
    return lanes[:, 0]
