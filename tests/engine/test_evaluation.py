"""Perplexity and KL against torch's own, on an executor whose predictions are known."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from app.core.errors import JobCancelledError, UsageError
from app.core.jobs import CancelToken
from app.engine.evaluation import evaluate
from app.engine.executors.base import Executor, LogitsWanted, MemoryUse, SequenceChunk

Floats = npt.NDArray[np.float32]

_VOCAB = 37


class _Spec:
    vocab_size = _VOCAB


class _BigramExecutor(Executor):
    """Predicts from the last token and its position alone; checks that it is asked in order."""

    name = "bigram"

    def __init__(self, seed: int, vocab_size: int = _VOCAB) -> None:
        rng = np.random.default_rng(seed)
        self.table = rng.normal(0, 3, (512, vocab_size, vocab_size)).astype(np.float32)
        self.spec = _Spec()  # type: ignore[assignment]
        self.spec.vocab_size = vocab_size  # type: ignore[misc]
        self.num_slots = 1
        self.length = 0

    def step(self, chunks: Sequence[SequenceChunk]) -> list[Floats]:
        (chunk,) = chunks
        assert chunk.logits is LogitsWanted.ALL
        assert chunk.start in (0, self.length)
        self.length = chunk.start + len(chunk.token_ids)
        positions = np.arange(chunk.start, self.length)
        return [self.table[positions, chunk.token_ids]]

    page_bytes = state_bytes = 0  # nothing is cached

    def _copy_page(self, source: int, target: int) -> None:
        raise AssertionError

    def _read_page(self, page: int) -> npt.NDArray[np.uint8]:
        raise AssertionError

    def _write_page(self, page: int, data: npt.NDArray[np.uint8]) -> None:
        raise AssertionError

    def _read_state(self, slot: int) -> npt.NDArray[np.uint8]:
        raise AssertionError

    def _write_state(self, slot: int, data: npt.NDArray[np.uint8]) -> None:
        raise AssertionError

    def memory_use(self) -> MemoryUse:
        return MemoryUse(0, 0, 0)

    def close(self) -> None:
        pass


def _windows(ids: list[int], window: int) -> list[list[int]]:
    return [ids[i : i + window] for i in range(0, len(ids), window)]


def _all_logits(executor: _BigramExecutor, ids: list[int], window: int) -> Floats:
    rows = [executor.table[np.arange(len(w) - 1), w[:-1]] for w in _windows(ids, window)]
    return np.concatenate(rows)


@pytest.fixture
def ids() -> list[int]:
    return np.random.default_rng(5).integers(0, _VOCAB, 701).tolist()


@pytest.mark.parametrize("window", [2, 7, 100, 128, 129, 300, 5000])
def test_perplexity_is_torchs_cross_entropy(ids: list[int], window: int) -> None:
    import torch

    ids = ids[:400]
    executor = _BigramExecutor(1)
    targets = torch.tensor([token for w in _windows(ids, window) for token in w[1:]])
    logits = torch.from_numpy(_all_logits(executor, ids, window))
    expected = torch.nn.functional.cross_entropy(logits.double(), targets).exp().item()
    result = evaluate(executor, ids, window)
    assert result.tokens == len(targets)
    assert math.isclose(result.perplexity, expected, rel_tol=1e-9)
    assert result.kl_mean is None


def test_kl_is_torchs_with_the_yardstick_as_truth(ids: list[int]) -> None:
    import torch

    model, yardstick = _BigramExecutor(1), _BigramExecutor(2)
    yardstick.table = model.table + 0.3 * yardstick.table
    log_model = torch.from_numpy(_all_logits(model, ids, 100)).double().log_softmax(-1)
    log_truth = torch.from_numpy(_all_logits(yardstick, ids, 100)).double().log_softmax(-1)
    kl = torch.nn.functional.kl_div(log_model, log_truth, log_target=True, reduction="none").sum(-1)
    agreement = (log_model.argmax(-1) == log_truth.argmax(-1)).double().mean().item()
    result = evaluate(model, ids, 100, yardstick)
    assert result.kl_mean is not None
    assert result.kl_max is not None
    assert math.isclose(result.kl_mean, kl.mean().item(), rel_tol=1e-9)
    assert math.isclose(result.kl_max, kl.max().item(), rel_tol=1e-9)
    assert result.top1_agreement == agreement
    assert 0.5 < agreement < 1.0


def test_logits_beyond_exp_are_no_trouble(ids: list[int]) -> None:
    executor = _BigramExecutor(1)
    executor.table *= 1000
    assert math.isinf(evaluate(executor, ids, 100).perplexity)


def test_progress_ends_at_the_whole_text(ids: list[int]) -> None:
    seen: list[tuple[int, int]] = []
    evaluate(_BigramExecutor(1), ids, 300, on_progress=lambda *step: seen.append(step))
    assert seen[-1] == (len(ids), len(ids))
    assert seen == sorted(seen)


def test_a_cancelled_evaluation_stops(ids: list[int]) -> None:
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(JobCancelledError):
        evaluate(_BigramExecutor(1), ids, 300, cancel=cancel)


def test_a_text_of_one_token_is_refused() -> None:
    with pytest.raises(UsageError, match="too short"):
        evaluate(_BigramExecutor(1), [1], 300)


def test_other_vocabularies_cannot_be_compared(ids: list[int]) -> None:
    with pytest.raises(UsageError, match="vocabular"):
        evaluate(_BigramExecutor(1), ids, 300, _BigramExecutor(2, vocab_size=_VOCAB + 1))
