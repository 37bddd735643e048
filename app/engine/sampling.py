"""From a row of logits to the next token id: the definition that every executor follows.

Order of operations, as in Hugging Face's generate: repetition penalty, presence and frequency
penalties (vLLM's place for them), temperature, top-k, top-p, min-p, draw. Penalties also act at
temperature 0. Before all of them stand, as in vLLM, a grammar's mask, the bias of tokens, and the
ban of the end before `min_tokens`.

Probabilities are integers: e^((logit - largest) / temperature) * 2^43 rounded. Their sums are exact
in any order, so a token falls by the same bits here and in `kernels/cpu/src/sampling.cpp`. The
exponential is a polynomial of products and sums, each rounded to float64: that of a library may
differ in the last bit.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Collection
from functools import cached_property

import numpy as np
import numpy.typing as npt

from app.core.boundary import Guard
from app.core.errors import EngineError, UsageError
from app.core.sentence import Sentence
from app.engine.grammar import TokenMatcher
from app.engine.logprobs import RankedLogprobs, rank_logprobs
from app.engine.philox import random_64
from app.engine.request import MAX_LOGPROBS, SamplingParams

_WEIGHT_BITS = 43  # a vocabulary of 2^20 tokens sums to less than 2^63
WEIGHT_OF_LIKELIEST = 2**_WEIGHT_BITS
_LEAST_SCORE = -64.0  # e^-64 * 2^43 rounds to 0
_LOG2_E = 1.4426950408889634
# ln 2 in two parts; the first has few enough bits that its product with an exponent is exact.
_LN2_HIGH, _LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
_NUM_TERMS = 14  # of the Taylor series of e^r, |r| <= ln(2) / 2; the rest is below 1e-17

# name -> (lowest, highest, whether the lowest itself is allowed)
_RANGES: dict[str, tuple[float, float, bool]] = {
    "temperature": (0.0, 100.0, True),
    "top_p": (0.0, 1.0, False),
    "min_p": (0.0, 1.0, True),
    # What divides logits must not make them infinite: that would look like an executor's fault.
    "repetition_penalty": (0.01, 100.0, True),
    "presence_penalty": (-2.0, 2.0, True),
    "frequency_penalty": (-2.0, 2.0, True),
}
Logits = npt.NDArray[np.float32]
_MAX_BIAS = 100.0  # OpenAI's
NO_TOKEN = -1  # of a request that could not be drawn for


def check_sampling(params: SamplingParams) -> None:
    """Raises UsageError naming the parameter that is out of its range (OpenAI's and vLLM's)."""
    for name, (low, high, is_low_allowed) in _RANGES.items():
        value = getattr(params, name)
        is_above = value >= low if is_low_allowed else value > low
        if not (math.isfinite(value) and is_above and value <= high):
            bound = Sentence("at least") if is_low_allowed else Sentence("greater than")
            raise UsageError(
                "{name} must be {bound} {low:g} and at most {high:g}, not {value!r}.",
                name=name,
                bound=bound,
                low=low,
                high=high,
                value=value,
            )
    if params.top_k < 0:
        raise UsageError("top_k must be 0 (off) or positive, not {top_k!r}.", top_k=params.top_k)
    if params.max_tokens is not None and params.max_tokens < 1:
        raise UsageError(
            "max_tokens must be at least 1, not {max_tokens!r}.", max_tokens=params.max_tokens
        )
    if params.min_tokens < 0:
        raise UsageError(
            "min_tokens must be at least 0, not {min_tokens!r}.", min_tokens=params.min_tokens
        )


class Sampler:
    """Chooses the tokens of one request; remembers what it chose, for the penalties.

    Token number n is drawn with the n-th number of the seed's Philox stream: with a seed, the
    choice depends on nothing but the logits. An executor that draws itself reads the attributes
    and tells the result to `record`.
    """

    def __init__(
        self,
        params: SamplingParams,
        prompt_ids: npt.ArrayLike,
        vocab_size: int,
        *,
        matcher: TokenMatcher | None = None,
        num_logprobs: int | None = None,
        stop_ids: Collection[int] = (),
    ) -> None:
        """`stop_ids` are banned for `min_tokens`.

        Raises UsageError for parameters that cannot be.
        """
        check_sampling(params)
        self.params = params
        # Python's and OpenAI's seeds may be negative.
        self.seed = secrets.randbits(64) if params.seed is None else params.seed % 2**64
        self.num_sampled = 0
        self._prompt_ids, self._vocab_size = prompt_ids, vocab_size
        self.logprobs: RankedLogprobs | None = None  # of the last token, where asked for
        self._fault: Exception | None = None
        self._matcher = matcher
        self._num_logprobs = _checked_logprobs(num_logprobs)
        self._bias = _dense_bias(params, vocab_size)
        self._stop_ids = np.array(sorted(stop_ids), np.int64)

    # A byte and four for each token of the vocabulary: not for a request that still waits.
    @cached_property
    def is_seen(self) -> npt.NDArray[np.bool_]:
        """Which tokens are in the prompt or the output, [vocab_size]."""
        is_seen = np.zeros(self._vocab_size, dtype=np.bool_)
        is_seen[np.asarray(self._prompt_ids, dtype=np.int64)] = True
        return is_seen

    @cached_property
    def num_output(self) -> npt.NDArray[np.int32]:
        """How often each token is in the output, [vocab_size]."""
        return np.zeros(self._vocab_size, dtype=np.int32)

    @property
    def needs_logits(self) -> bool:
        """Whether only `sample` can draw: something acts that the devices' samplers do not know."""
        return not (
            self._matcher is None
            and self._num_logprobs is None
            and self._bias is None
            and self.params.min_tokens == 0
        )

    @property
    def is_complete(self) -> bool:
        """Whether the grammar lets nothing follow but the end."""
        return self._matcher is not None and self._matcher.is_complete

    def check(self) -> None:
        """Raises what went wrong with the last token: EngineError where the grammar can be followed
        no further or the logits were not finite, else what the rules of this request raised.
        """
        error = "" if self._matcher is None else self._matcher.error
        if error:
            raise EngineError("The reply could not be held to its grammar: {error}.", error=error)
        if self._fault is not None:
            raise self._fault

    def sample(
        self, logits: npt.NDArray[np.float32], choose: Callable[[Logits], int] | None = None
    ) -> int:
        """The next token id from logits [vocab_size]; ties at temperature 0 go to the lowest id.

        `choose` may stand in for `choose` of this class, which is the definition. -inf rules a
        token out. What goes wrong - a logit that is not a number or infinite, the request's own
        rules - is kept for `check`: the token is -1 then, and the others of the batch have theirs.
        """
        if not np.isfinite(logits.max()):  # the maximum of anything with a NaN is NaN
            return self.record(NO_TOKEN)
        # Masks come from a library, and its grammars from clients.
        with Guard("No token could be drawn for a request", self._keep_fault):
            return self._sample(logits, choose or self.choose)
        return NO_TOKEN

    def _keep_fault(self, error: Exception) -> None:
        self._fault = error

    def _sample(self, logits: npt.NDArray[np.float32], choose: Callable[[Logits], int]) -> int:
        restricted = self._restrict(logits)
        if not np.isfinite(restricted.max()):
            raise EngineError("What the request asks for leaves no token to choose from.")
        token_id = self.record(choose(restricted))
        if self._num_logprobs is not None:
            self.logprobs = rank_logprobs(logits, token_id, self._num_logprobs)
        return token_id

    def record(self, token_id: int) -> int:
        """The token that was chosen; -1 for logits that are not finite, which `check` raises."""
        if token_id == NO_TOKEN:
            self._fault = EngineError(
                "The model computed values that are not finite; its checkpoint may be damaged."
            )
            return NO_TOKEN
        self.num_sampled += 1
        self.is_seen[token_id] = True
        self.num_output[token_id] += 1
        if self._matcher is not None:
            self._matcher.accept(token_id)
        return token_id

    def choose(self, logits: npt.NDArray[np.float32]) -> int:
        """Penalties and the draw."""
        penalized = self.penalize(logits)
        if self.params.temperature == 0:
            return int(penalized.argmax())
        return self._draw(*candidates(penalized, self.params))

    def _restrict(self, logits: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Mask, bias and `min_tokens`; a grammar that allows nothing but the end is obeyed."""
        if self._matcher is not None:
            logits = np.where(self._matcher.allowed(), logits, np.float32(-np.inf))
        if self._bias is not None:
            logits = logits + self._bias
        if self.num_sampled < self.params.min_tokens and len(self._stop_ids):
            banned = logits.copy()
            banned[self._stop_ids] = -np.inf
            logits = banned if np.isfinite(banned.max()) else logits
        return logits

    def _draw(self, ids: npt.NDArray[np.int64], weights: npt.NDArray[np.uint64]) -> int:
        cumulative = np.cumsum(weights)
        drawn = random_64(self.seed, self.num_sampled) * int(cumulative[-1]) >> 64
        return int(ids[np.searchsorted(cumulative, np.uint64(drawn), side="right")])

    def penalize(self, logits: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Applies Hugging Face's penalty over prompt and output, and OpenAI's over the output."""
        params = self.params
        if params.repetition_penalty != 1.0:
            factor = np.float32(params.repetition_penalty)
            scaled = np.where(logits > 0, logits / factor, logits * factor)
            logits = np.where(self.is_seen, scaled, logits).astype(np.float32)
        if params.presence_penalty or params.frequency_penalty:
            counts = self.num_output
            penalty = params.frequency_penalty * counts + params.presence_penalty * (counts > 0)
            logits = logits - penalty.astype(np.float32)
        return logits


def candidates(
    logits: npt.NDArray[np.float32], params: SamplingParams
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
    """Token ids, ascending, that survive top-k, top-p and min-p, and their weights; that of the
    likeliest is 2^43. For temperatures above 0."""
    ids = _top_k(logits, params.top_k)
    # The maximum goes first, so that a tiny temperature cannot overflow.
    scores = (logits[ids].astype(np.float64) - float(logits.max())) / params.temperature
    weights = _weights(scores)
    is_kept = weights > 0
    if params.top_p < 1.0:
        is_kept &= _is_in_top_p(logits[ids], weights, params.top_p)
    if params.min_p > 0.0:
        is_kept &= weights >= math.ceil(params.min_p * WEIGHT_OF_LIKELIEST)
    return ids[is_kept], weights[is_kept]


def _weights(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.uint64]:
    """e^score * 2^43, rounded; scores are at most 0."""
    x = np.maximum(scores, _LEAST_SCORE)
    exponents = np.rint(x * _LOG2_E)
    r = (x - exponents * _LN2_HIGH) - exponents * _LN2_LOW
    power = np.full_like(r, 1.0 / math.factorial(_NUM_TERMS - 1))
    for n in reversed(range(_NUM_TERMS - 1)):
        power = power * r + 1.0 / math.factorial(n)
    return np.rint(np.ldexp(power, exponents.astype(np.int64) + _WEIGHT_BITS)).astype(np.uint64)


def _top_k(logits: npt.NDArray[np.float32], top_k: int) -> npt.NDArray[np.int64]:
    """Ids of the `top_k` best; those that tie with the last stay too, as in Hugging Face's."""
    if not 0 < top_k < len(logits):
        return np.arange(len(logits))
    threshold = np.partition(logits, -top_k)[-top_k]
    return np.flatnonzero(logits >= threshold)


def _is_in_top_p(
    logits: npt.NDArray[np.float32], weights: npt.NDArray[np.uint64], top_p: float
) -> npt.NDArray[np.bool_]:
    """The smallest set of likeliest tokens, of equals the first, whose weights reach `top_p`."""
    total = int(weights.sum())
    order = np.argsort(-logits, kind="stable")
    before = np.cumsum(weights[order]) - weights[order]
    is_kept = np.zeros(len(weights), dtype=np.bool_)
    is_kept[order[before < math.ceil(top_p * float(total))]] = True
    return is_kept


def _dense_bias(params: SamplingParams, vocab_size: int) -> npt.NDArray[np.float32] | None:
    """[vocab_size]; None where there is none."""
    if not params.logit_bias:
        return None
    bias = np.zeros(vocab_size, np.float32)
    for token_id, value in params.logit_bias:
        if not 0 <= token_id < vocab_size:
            raise UsageError(
                "logit_bias names token {token_id}, of a vocabulary of {vocab_size}.",
                token_id=token_id,
                vocab_size=vocab_size,
            )
        if not abs(value) <= _MAX_BIAS:
            raise UsageError(
                "logit_bias must lie between -100 and 100, not be {value!r}.", value=value
            )
        bias[token_id] = value
    return bias


def _checked_logprobs(count: int | None) -> int | None:
    if count is not None and not 0 <= count <= MAX_LOGPROBS:
        raise UsageError(
            "Logprobs are given of 0 to {most} tokens, not of {count}.",
            most=MAX_LOGPROBS,
            count=count,
        )
    return count
