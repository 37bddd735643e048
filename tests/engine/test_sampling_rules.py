"""What acts before the penalties: biases and the least length; and how likely tokens were."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.errors import UsageError
from app.core.events import TokenLogprob
from app.engine.logprobs import rank_logprobs
from app.engine.request import SamplingParams
from app.engine.sampling import Sampler

VOCAB_SIZE = 300
GREEDY = SamplingParams(temperature=0.0)


def random_logits(seed: int = 0) -> npt.NDArray[np.float32]:
    return np.random.default_rng(seed).normal(0, 3, VOCAB_SIZE).astype(np.float32)


def test_a_bias_is_added_before_everything_else() -> None:
    logits = np.zeros(VOCAB_SIZE, np.float32)
    logits[:3] = (4.0, 3.0, 2.0)
    biased = replace(GREEDY, logit_bias=((0, -100.0), (2, 1.5)))
    assert Sampler(biased, [], VOCAB_SIZE).sample(logits) == 2
    # 2 + 1.5 halved by the penalty for a token of the prompt is less than 3.
    penalized = replace(biased, repetition_penalty=2.0)
    assert Sampler(penalized, [2], VOCAB_SIZE).sample(logits) == 1


def test_biased_draws_follow_the_biased_probabilities() -> None:
    logits = np.zeros(2, np.float32)
    params = SamplingParams(temperature=1.0, seed=0, logit_bias=((1, float(np.log(3.0))),))
    sampler = Sampler(params, [], 2)
    share = np.mean([sampler.sample(logits) for _ in range(5000)])
    # Four standard deviations of a binomial of 5,000.
    assert share == pytest.approx(0.75, abs=4 * 0.433 / 5000**0.5)


def test_nothing_ends_before_the_least_length() -> None:
    logits = random_logits()
    end = int(logits.argmax())
    second = int(np.argsort(-logits)[1])
    sampler = Sampler(replace(GREEDY, min_tokens=3), [], VOCAB_SIZE, stop_ids=[end])
    assert [sampler.sample(logits) for _ in range(5)] == [second] * 3 + [end] * 2


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        (replace(GREEDY, logit_bias=((VOCAB_SIZE, 1.0),)), "names token 300, of a vocabulary"),
        (replace(GREEDY, logit_bias=((-1, 1.0),)), "names token -1"),
        (replace(GREEDY, logit_bias=((0, 101.0),)), "between -100 and 100, not be 101"),
        (replace(GREEDY, logit_bias=((0, float("nan")),)), "between -100 and 100"),
        (replace(GREEDY, min_tokens=-1), "min_tokens must be at least 0"),
    ],
)
def test_what_cannot_be_is_named(params: SamplingParams, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        Sampler(params, [], VOCAB_SIZE)


@pytest.mark.parametrize("count", [-1, 21])
def test_logprobs_are_of_up_to_twenty_tokens(count: int) -> None:
    with pytest.raises(UsageError, match="of 0 to 20 tokens"):
        Sampler(GREEDY, [], VOCAB_SIZE, num_logprobs=count)


def test_only_what_devices_do_not_know_needs_logits() -> None:
    penalized = replace(GREEDY, repetition_penalty=1.1, presence_penalty=0.5, seed=1)
    assert not Sampler(penalized, [], VOCAB_SIZE).needs_logits
    assert Sampler(GREEDY, [], VOCAB_SIZE, num_logprobs=0).needs_logits
    assert Sampler(replace(GREEDY, min_tokens=1), [], VOCAB_SIZE).needs_logits
    assert Sampler(replace(GREEDY, logit_bias=((1, 1.0),)), [], VOCAB_SIZE).needs_logits


@settings(deadline=None)
@given(seed=st.integers(0, 10_000), count=st.integers(0, 20), token_id=st.integers(0, 299))
def test_logprobs_are_those_of_torch(seed: int, count: int, token_id: int) -> None:
    import torch

    logits = random_logits(seed)
    expected = torch.from_numpy(logits).double().log_softmax(-1)
    ranked = rank_logprobs(logits, token_id, count)
    assert ranked.chosen == (token_id, pytest.approx(float(expected[token_id]), abs=1e-9))
    values, ids = expected.topk(count)
    assert [i for i, _ in ranked.top] == ids.tolist()
    np.testing.assert_allclose([value for _, value in ranked.top], values.numpy(), atol=1e-9)


def test_of_equally_likely_tokens_the_first_come_first() -> None:
    logits = np.array([1, 2, 2, 2, 0], np.float32)
    assert [i for i, _ in rank_logprobs(logits, 0, 2).top] == [1, 2]
    assert [i for i, _ in rank_logprobs(logits, 0, 9).top] == [1, 2, 3, 0, 4]


def test_logprobs_are_of_the_model_whatever_draws() -> None:
    """Neither temperature nor penalties nor a bias change them; nor do they change the draw."""
    logits = random_logits(4)
    params = SamplingParams(
        temperature=1.7, top_k=5, repetition_penalty=1.5, seed=3, logit_bias=((7, 50.0),)
    )
    plain = Sampler(params, [7], VOCAB_SIZE)
    sampler = Sampler(params, [7], VOCAB_SIZE, num_logprobs=3)
    token_id = sampler.sample(logits)
    assert token_id == plain.sample(logits)
    assert plain.logprobs is None
    assert sampler.logprobs == rank_logprobs(logits, token_id, 3)
    described = sampler.logprobs.with_bytes(lambda i: bytes([i % 256]))
    assert described.token == bytes([token_id % 256])
    assert [type(top) for top in described.top] == [TokenLogprob] * 3
    assert all(top.top == () for top in described.top)
