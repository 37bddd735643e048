"""How much of prompts runs beside replies that decode: what makes them wait 100 ms at most."""

from __future__ import annotations

import sys
from collections import deque
from statistics import median

from app.engine.executors.base import PREFILL_CHUNK_TOKENS

# What a piece of a prompt may add to a step. Text that stops for longer is seen to stutter.
STEP_BUDGET_S = 0.1
_FIRST_PIECE = 16  # before there is a speed to go by
_GRANULE = 8  # kernels take rows by the eight
_NUM_REMEMBERED = 5  # of steps; their median ignores one that compiled or loaded something


class PrefillPacer:
    """Chooses how much runs next by the speed of the last steps.

    `max_pass_tokens` as of the executor: prompts and replies then keep to one pass together.
    """

    def __init__(self, max_pass_tokens: int | None = None, budget_s: float = STEP_BUDGET_S) -> None:
        self._max_pass_tokens = max_pass_tokens or sys.maxsize
        self._budget_s = budget_s
        self._decode_s: deque[float] = deque(maxlen=_NUM_REMEMBERED)
        self._token_s: deque[float] = deque(maxlen=_NUM_REMEMBERED)

    def piece_tokens(self, num_decoding: int) -> int:
        """The most tokens of prompts to run beside so many replies."""
        if not num_decoding:
            return PREFILL_CHUNK_TOKENS
        if not self._token_s:
            return _FIRST_PIECE
        fitting = int(self._budget_s / median(self._token_s)) // _GRANULE * _GRANULE
        fitting = min(fitting, self._max_pass_tokens - num_decoding)
        return max(_GRANULE, min(PREFILL_CHUNK_TOKENS, fitting))

    def record(self, num_prefilled: int, num_decoded: int, step_s: float) -> None:
        """A step has taken `step_s` seconds for so many tokens of prompts beside so many replies.

        What the replies alone take is subtracted; pieces of a few tokens tell nothing of many.
        """
        if not num_prefilled:
            self._decode_s.append(step_s)
        elif num_prefilled >= _GRANULE:
            shared_s = median(self._decode_s) if num_decoded and self._decode_s else 0.0
            self._token_s.append(max(step_s - shared_s, 1e-9) / num_prefilled)
