"""Times sorted into ranges, as Prometheus counts them."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate

_BOUNDS_S = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Histogram:
    """Counts times in seconds by their upper bound."""

    def __init__(self) -> None:
        self._counts = [0] * (len(_BOUNDS_S) + 1)
        self.sum_s = 0.0

    def add(self, seconds: float) -> None:
        """One more time."""
        self._counts[bisect_left(_BOUNDS_S, seconds)] += 1
        self.sum_s += seconds

    def cumulative(self) -> list[tuple[str, int]]:
        """How many times were at most each bound; the last bound is `+Inf`."""
        bounds = [*(f"{bound:g}" for bound in _BOUNDS_S), "+Inf"]
        return list(zip(bounds, accumulate(self._counts), strict=True))
