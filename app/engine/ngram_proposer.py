"""Guesses of a reply's next tokens from what its text has said before.

Text that repeats itself - code that is edited, quotations, tables, JSON - comes several tokens a
step where an executor checks some at the price of little more than one (`Executor.verify`). It is
the same text: each token is drawn as ever, a guess only spares the wait for it. Known as prompt
lookup decoding, in vLLM as n-gram speculation.
"""

from __future__ import annotations

from collections.abc import Sequence

_NGRAM_TOKENS = 3  # fewer come again by chance
_PRIOR_RATE = 0.4  # of guesses that hold, before there are any
_MEMORY = 0.7  # of what was seen, kept at each draft
_RECOVERY = 0.01  # of the way back to the prior, at each token that nothing was guessed for


class NgramProposer:
    """Follows one text; `rate` says how likely its guesses are to hold, by the last ones."""

    def __init__(self, token_ids: Sequence[int]) -> None:
        self.rate = _PRIOR_RATE
        self._token_ids: list[int] = []
        self._following: dict[tuple[int, ...], int] = {}  # n-gram -> where its last text goes on
        for token_id in token_ids:
            self.append(token_id)

    def append(self, token_id: int) -> None:
        """The text goes on; the n-gram that it now ends with is not one of its past."""
        if len(self._token_ids) >= _NGRAM_TOKENS:
            self._following[self._ending()] = len(self._token_ids)
        self._token_ids.append(token_id)

    def propose(self, num_tokens: int) -> list[int]:
        """So many tokens that may come next, none where the text's end has not been seen before.

        What stood there may reach the text's end; then it repeats.
        """
        start = self._following.get(self._ending())
        if start is None or num_tokens <= 0:
            return []
        known = self._token_ids[start : start + num_tokens]
        return [known[i % len(known)] for i in range(num_tokens)]

    def record(self, num_proposed: int, num_held: int) -> None:
        """What became of a proposal; of none, the rate goes back to what it was at first."""
        if not num_proposed:
            self.rate += _RECOVERY * (_PRIOR_RATE - self.rate)
            return
        num_tried = min(num_held + 1, num_proposed)
        self.rate = _MEMORY * self.rate + (1 - _MEMORY) * num_held / num_tried

    def _ending(self) -> tuple[int, ...]:
        return tuple(self._token_ids[-_NGRAM_TOKENS:])
