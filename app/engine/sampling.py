"""From a row of logits to the next token id.

Order of operations, as in Hugging Face's generate: repetition penalty, presence and frequency
penalties (vLLM's place for them), temperature, top-k, top-p, min-p, draw. Penalties also act at
temperature 0.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from app.core.errors import EngineError, UsageError
from app.engine.request import SamplingParams

# name -> (lowest, highest, whether the lowest itself is allowed)
_RANGES: dict[str, tuple[float, float, bool]] = {
    "temperature": (0.0, 100.0, True),
    "top_p": (0.0, 1.0, False),
    "min_p": (0.0, 1.0, True),
    "repetition_penalty": (0.0, 100.0, False),
    "presence_penalty": (-2.0, 2.0, True),
    "frequency_penalty": (-2.0, 2.0, True),
}


def check_sampling(params: SamplingParams) -> None:
    """Raises UsageError naming the parameter that is out of its range (OpenAI's and vLLM's)."""
    for name, (low, high, is_low_allowed) in _RANGES.items():
        value = getattr(params, name)
        is_above = value >= low if is_low_allowed else value > low
        if not (math.isfinite(value) and is_above and value <= high):
            bound = "at least" if is_low_allowed else "greater than"
            raise UsageError(f"{name} must be {bound} {low:g} and at most {high:g}, not {value!r}.")
    if params.top_k < 0:
        raise UsageError(f"top_k must be 0 (off) or positive, not {params.top_k!r}.")
    if params.max_tokens is not None and params.max_tokens < 1:
        raise UsageError(f"max_tokens must be at least 1, not {params.max_tokens!r}.")


class Sampler:
    """Chooses the tokens of one request; remembers what it chose, for the penalties.

    Draws from its own Philox stream: with a seed, the choice depends on nothing but the logits.
    """

    def __init__(self, params: SamplingParams, prompt_ids: npt.ArrayLike, vocab_size: int) -> None:
        check_sampling(params)
        self._params = params
        # Python's and OpenAI's seeds may be negative, Philox's may not.
        seed = None if params.seed is None else params.seed % 2**64
        self._random = np.random.Generator(np.random.Philox(seed))
        self._is_seen = np.zeros(vocab_size, dtype=np.bool_)  # in the prompt or the output
        self._is_seen[np.asarray(prompt_ids, dtype=np.int64)] = True
        self._num_output = np.zeros(vocab_size, dtype=np.int32)

    def sample(self, logits: npt.NDArray[np.float32]) -> int:
        """The next token id from logits [vocab_size]; ties at temperature 0 go to the lowest id.

        Raises EngineError when a logit is not a number or infinite; -inf rules a token out.
        """
        if not np.isfinite(logits.max()):  # the maximum of anything with a NaN is NaN
            raise EngineError("The executor computed logits that are not finite.")
        penalized = self.penalize(logits)
        token_id = (
            int(penalized.argmax()) if self._params.temperature == 0 else self._draw(penalized)
        )
        self._is_seen[token_id] = True
        self._num_output[token_id] += 1
        return token_id

    def _draw(self, logits: npt.NDArray[np.float32]) -> int:
        ids, probs = candidates(logits, self._params)
        cumulative = np.cumsum(probs)
        # `random` is below 1, but rounding may bring the product up to the sum.
        chosen = np.searchsorted(cumulative, self._random.random() * cumulative[-1], side="right")
        return int(ids[min(int(chosen), len(ids) - 1)])

    def penalize(self, logits: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Applies Hugging Face's penalty over prompt and output, and OpenAI's over the output."""
        params = self._params
        if params.repetition_penalty != 1.0:
            factor = np.float32(params.repetition_penalty)
            scaled = np.where(logits > 0, logits / factor, logits * factor)
            logits = np.where(self._is_seen, scaled, logits).astype(np.float32)
        if params.presence_penalty or params.frequency_penalty:
            counts = self._num_output
            penalty = params.frequency_penalty * counts + params.presence_penalty * (counts > 0)
            logits = logits - penalty.astype(np.float32)
        return logits


def candidates(
    logits: npt.NDArray[np.float32], params: SamplingParams
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Token ids that survive top-k, top-p and min-p, and their probabilities (sum 1).

    For temperatures above 0.
    """
    # The maximum goes first, so that a tiny temperature cannot overflow.
    scores = (logits.astype(np.float64) - float(logits.max())) / params.temperature
    ids = _top_k(scores, params.top_k)
    probs = _normalize(np.exp(scores[ids]))
    if params.top_p < 1.0:
        is_kept = _top_p(probs, params.top_p)
        ids, probs = ids[is_kept], _normalize(probs[is_kept])
    if params.min_p > 0.0:
        is_likely = probs >= params.min_p * probs.max()
        ids, probs = ids[is_likely], _normalize(probs[is_likely])
    return ids, probs


def _top_k(scores: npt.NDArray[np.float64], top_k: int) -> npt.NDArray[np.int64]:
    """Ids of the `top_k` best; those that tie with the last stay too, as in Hugging Face's."""
    if not 0 < top_k < len(scores):
        return np.arange(len(scores))
    threshold = np.partition(scores, -top_k)[-top_k]
    return np.flatnonzero(scores >= threshold)


def _top_p(probs: npt.NDArray[np.float64], top_p: float) -> npt.NDArray[np.int64]:
    """Places of the smallest set of likeliest tokens whose probabilities reach `top_p`."""
    # A token with p < (1 - top_p) / n cannot be in it: it and all less likely ones together weigh
    # less than 1 - top_p. Without them the sort is of hundreds of tokens, not of the vocabulary.
    places = np.flatnonzero(probs >= min((1.0 - top_p) / len(probs), probs.max()))
    places = places[np.argsort(-probs[places], kind="stable")]
    before = np.cumsum(probs[places]) - probs[places]
    return places[before < top_p]


def _normalize(probs: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(probs / probs.sum())
