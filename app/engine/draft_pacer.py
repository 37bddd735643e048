"""How many tokens to guess at a time: what is worth the wait, by the speed of the last steps."""

from __future__ import annotations

from collections import defaultdict, deque
from statistics import median

_LENGTHS = (1, 3, 7)  # with the token that is known, rows as kernels take them
_NUM_REMEMBERED = 5  # of steps; their median ignores one that waited for another process
_NUM_TRUSTED = 3  # so many tell something
_TRUST_STEPS = 64  # without guesses; then lengths that were too slow once get another try
_ASSUMED_SHARE = 0.15  # of a step that another row costs, before one was measured


class DraftPacer:
    """Knows what steps of a lone reply take with so many guesses (`max_tokens` at most)."""

    def __init__(self, max_tokens: int) -> None:
        self._lengths = [length for length in _LENGTHS if length <= max_tokens]
        self._num_plain = 0
        self._step_s: defaultdict[int, deque[float]] = defaultdict(
            lambda: deque(maxlen=_NUM_REMEMBERED)
        )

    def length(self, rate: float) -> int:
        """The number of guesses that gives most tokens a second, if each holds at `rate`."""
        return max(
            (0, *self._lengths), key=lambda length: _yield(rate, length) / self._cost(length)
        )

    def record(self, num_guesses: int, step_s: float) -> None:
        """A step of a lone reply has taken `step_s` seconds."""
        self._num_plain = 0 if num_guesses else self._num_plain + 1
        if self._num_plain == _TRUST_STEPS:
            self._step_s.clear()
            self._num_plain = 0
        self._step_s[num_guesses].append(step_s)

    def _cost(self, length: int) -> float:
        """Of a step, in plain steps."""
        plain, guessing = self._step_s[0], self._step_s[length]
        if min(len(plain), len(guessing)) < _NUM_TRUSTED:
            return 1 + _ASSUMED_SHARE * length
        return median(guessing) / median(plain)


def _yield(rate: float, length: int) -> float:
    """Tokens that a step gives on average: the guesses up to the first that fails, and one."""
    return sum(rate**i for i in range(length + 1))
