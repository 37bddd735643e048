"""How likely tokens were in the model's own distribution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.core.events import TokenLogprob


@dataclass(frozen=True, slots=True)
class RankedLogprobs:
    """(token id, ln of its probability) of the token that was chosen, and of the likeliest."""

    chosen: tuple[int, float]
    top: tuple[tuple[int, float], ...]

    def with_bytes(self, token_bytes: Callable[[int], bytes]) -> TokenLogprob:
        """As an event carries it."""
        top = tuple(
            TokenLogprob(token_id, token_bytes(token_id), value) for token_id, value in self.top
        )
        token_id, value = self.chosen
        return TokenLogprob(token_id, token_bytes(token_id), value, top)


def rank_logprobs(logits: npt.NDArray[np.float32], token_id: int, num_top: int) -> RankedLogprobs:
    """log_softmax of `logits` [vocab_size], computed in float64; of equals the lowest id first."""
    scores = logits.astype(np.float64)
    scores -= scores.max()
    scores -= np.log(np.exp(scores).sum())
    top = tuple((int(index), float(scores[index])) for index in _likeliest(scores, num_top))
    return RankedLogprobs((token_id, float(scores[token_id])), top)


def _likeliest(scores: npt.NDArray[np.float64], count: int) -> npt.NDArray[np.int64]:
    if count == 0:
        return np.empty(0, np.int64)
    count = min(count, len(scores))
    threshold = np.partition(scores, -count)[-count]
    ids = np.flatnonzero(scores >= threshold)
    return ids[np.argsort(-scores[ids], kind="stable")][:count]
