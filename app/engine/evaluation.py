"""How good a checkpoint is on a text: perplexity, and how far its predictions are from another's.

The text's tokens are cut into windows of `window` tokens that do not overlap; each window starts
with an empty context, and every token but its first is predicted. Perplexity is exp(mean negative
log-likelihood) over all predicted tokens. KL is KL(P_yardstick || P_model) in nats per predicted
token; top-1 agreement is the share of tokens where both find the same token likeliest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from app.core.errors import UsageError
from app.core.jobs import CancelToken
from app.engine.executors.base import (
    PREFILL_CHUNK_TOKENS,
    LogitsWanted,
    SequenceChunk,
)
from app.spec.model_spec import ModelSpec

Floats = npt.NDArray[np.float64]
Progress = Callable[[int, int], None]

# Log-probabilities are taken in float64, a few rows at a time: a row of 150,000 words is 1.2 MB.
_ROWS_AT_ONCE = 32


class Predictor(Protocol):
    """What evaluation asks of an executor; `step` is that of `Executor`."""

    spec: ModelSpec

    def step(self, chunks: Sequence[SequenceChunk]) -> list[npt.NDArray[np.float32]]: ...


@dataclass(frozen=True, slots=True)
class Evaluation:
    """`tokens` counts the predicted ones; what follows is None without a yardstick."""

    perplexity: float
    tokens: int
    kl_mean: float | None = None
    kl_max: float | None = None
    top1_agreement: float | None = None
    yardstick_perplexity: float | None = None


def evaluate(
    executor: Predictor,
    token_ids: Sequence[int],
    window: int,
    yardstick: Predictor | None = None,
    on_progress: Progress | None = None,
    cancel: CancelToken | None = None,
) -> Evaluation:
    """Runs the text through `executor` (and `yardstick`); `on_progress(done, total)` counts tokens.

    Raises UsageError for a text of fewer than two tokens and a yardstick of another vocabulary.
    """
    _check(executor, token_ids, yardstick)
    totals = _Totals()
    for piece in _iter_pieces(token_ids, window):
        if cancel is not None:
            cancel.check()
        totals.add(
            piece.targets,
            _predict(executor, piece),
            _predict(yardstick, piece) if yardstick else None,
        )
        if on_progress is not None:
            on_progress(piece.num_done, len(token_ids))
    return totals.summarise()


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a window; `targets` int64 [n] are the tokens that its rows of logits predict."""

    chunk: SequenceChunk
    targets: npt.NDArray[np.int64]
    num_done: int


def _check(executor: Predictor, token_ids: Sequence[int], yardstick: Predictor | None) -> None:
    if len(token_ids) < 2:
        raise UsageError("The text is too short: it has fewer than two tokens.")
    if yardstick is not None and yardstick.spec.vocab_size != executor.spec.vocab_size:
        raise UsageError(
            "The two models have different vocabularies ({vocab_size} and {other_vocab_size} "
            "tokens), so their predictions cannot be compared.",
            vocab_size=executor.spec.vocab_size,
            other_vocab_size=yardstick.spec.vocab_size,
        )


def _iter_pieces(token_ids: Sequence[int], window: int) -> Iterator[_Piece]:
    for begin in range(0, len(token_ids), window):
        end = min(begin + window, len(token_ids))
        # A window's last token is only predicted, never run: nothing comes after it.
        for start in range(begin, end - 1, PREFILL_CHUNK_TOKENS):
            stop = min(start + PREFILL_CHUNK_TOKENS, end - 1)
            ids = np.asarray(token_ids[start:stop], dtype=np.int32)
            chunk = SequenceChunk(0, start - begin, ids, LogitsWanted.ALL)
            yield _Piece(
                chunk, np.asarray(token_ids[start + 1 : stop + 1], dtype=np.int64), stop + 1
            )


def _predict(executor: Predictor, piece: _Piece) -> npt.NDArray[np.float32]:
    return executor.step([piece.chunk])[0]


class _Totals:
    """Sums over all predicted tokens."""

    def __init__(self) -> None:
        self._num_tokens = 0
        self._loss = self._yardstick_loss = 0.0  # sums of negative log-likelihood
        self._num_compared = 0
        self._num_agreed = 0
        self._kl_sum = 0.0
        self._kl_max = 0.0

    def add(
        self,
        targets: npt.NDArray[np.int64],
        logits: npt.NDArray[np.float32],
        yardstick: npt.NDArray[np.float32] | None,
    ) -> None:
        """`targets` [n], `logits` and `yardstick` [n, vocab_size]."""
        for start in range(0, len(targets), _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            log_probs = _log_softmax(logits[rows])
            self._loss += _sum_of_losses(targets[rows], log_probs)
            if yardstick is not None:
                wanted = _log_softmax(yardstick[rows])
                self._yardstick_loss += _sum_of_losses(targets[rows], wanted)
                self._add_comparison(log_probs, wanted)
        self._num_tokens += len(targets)

    def summarise(self) -> Evaluation:
        perplexity = _perplexity(self._loss / self._num_tokens)
        if not self._num_compared:
            return Evaluation(perplexity, self._num_tokens)
        return Evaluation(
            perplexity,
            self._num_tokens,
            kl_mean=self._kl_sum / self._num_compared,
            kl_max=self._kl_max,
            top1_agreement=self._num_agreed / self._num_compared,
            yardstick_perplexity=_perplexity(self._yardstick_loss / self._num_tokens),
        )

    def _add_comparison(self, log_probs: Floats, yardstick: Floats) -> None:
        kl = (np.exp(yardstick) * (yardstick - log_probs)).sum(axis=-1)
        self._num_compared += len(kl)
        self._kl_sum += float(kl.sum())
        self._kl_max = max(self._kl_max, float(kl.max()))
        agreed = log_probs.argmax(axis=-1) == yardstick.argmax(axis=-1)
        self._num_agreed += int(agreed.sum())


def _sum_of_losses(targets: npt.NDArray[np.int64], log_probs: Floats) -> float:
    return -float(log_probs[np.arange(len(targets)), targets].sum())


def _perplexity(mean_loss: float) -> float:
    # exp overflows a float beyond 709; such a model is broken, and the figure says so.
    return math.exp(mean_loss) if mean_loss < 700 else math.inf


def _log_softmax(logits: npt.NDArray[np.float32]) -> Floats:
    shifted = logits.astype(np.float64)
    shifted -= shifted.max(axis=-1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return shifted
