"""How fast tokens come just now."""

from __future__ import annotations

from collections import deque

RATE_WINDOW_S = 1.0


class TokenRate:
    """Tokens per second over the last RATE_WINDOW_S seconds; times are of any steady clock."""

    def __init__(self) -> None:
        self._moments: deque[tuple[float, int]] = deque()

    def add(self, num_tokens: int, now_s: float) -> None:
        """`num_tokens` came at `now_s`."""
        self._moments.append((now_s, num_tokens))

    def measure(self, now_s: float) -> float:
        """0 until two moments lie in the window, and while the clock has not gone on since the
        first: that of Windows ticks 64 times a second."""
        while self._moments and self._moments[0][0] < now_s - RATE_WINDOW_S:
            self._moments.popleft()
        elapsed_s = now_s - self._moments[0][0] if len(self._moments) > 1 else 0.0
        if elapsed_s <= 0:
            return 0.0
        # The first moment opens the interval: its tokens were made before it.
        return (sum(number for _, number in self._moments) - self._moments[0][1]) / elapsed_s
