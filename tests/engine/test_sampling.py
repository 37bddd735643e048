"""Sampling against transformers' own logits processors, and its promises about seeds and ties."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.errors import EngineError, UsageError
from app.engine.request import SamplingParams
from app.engine.sampling import NO_TOKEN, Sampler, candidates

VOCAB_SIZE = 500
GREEDY = SamplingParams(temperature=0.0)


def random_logits(seed: int = 0, size: int = VOCAB_SIZE) -> npt.NDArray[np.float32]:
    return np.random.default_rng(seed).normal(0, 3, size).astype(np.float32)


def probable(
    logits: npt.NDArray[np.float32], params: SamplingParams
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """The candidates and their probabilities."""
    ids, weights = candidates(logits, params)
    return ids, weights / weights.sum()


def warped_by_transformers(
    logits: npt.NDArray[np.float32], params: SamplingParams
) -> npt.NDArray[np.float64]:
    """Probabilities after transformers' warpers in the order of its `generate`."""
    import torch
    from transformers import (
        LogitsProcessorList,
        MinPLogitsWarper,
        TemperatureLogitsWarper,
        TopKLogitsWarper,
        TopPLogitsWarper,
    )

    warpers = LogitsProcessorList([TemperatureLogitsWarper(params.temperature)])
    if params.top_k:
        warpers.append(TopKLogitsWarper(params.top_k))
    if params.top_p < 1:
        warpers.append(TopPLogitsWarper(params.top_p))
    if params.min_p > 0:
        warpers.append(MinPLogitsWarper(params.min_p))
    scores = warpers(torch.zeros(1, 1, dtype=torch.long), torch.from_numpy(logits)[None].double())
    return np.asarray(scores[0].softmax(-1))


@pytest.mark.parametrize(
    "params",
    [
        SamplingParams(temperature=1.0),
        SamplingParams(temperature=0.3),
        SamplingParams(temperature=1.0, top_k=7),
        SamplingParams(temperature=1.0, top_k=1),
        SamplingParams(temperature=1.0, top_k=10_000),
        SamplingParams(temperature=1.0, top_p=0.9),
        SamplingParams(temperature=2.0, top_p=0.05),
        SamplingParams(temperature=1.0, min_p=0.1),
        SamplingParams(temperature=1.7, top_k=40, top_p=0.8, min_p=0.15),
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", range(3))
def test_candidates_are_those_of_transformers(params: SamplingParams, seed: int) -> None:
    logits = random_logits(seed)
    ids, probs = probable(logits, params)
    got = np.zeros(VOCAB_SIZE)
    got[ids] = probs
    np.testing.assert_allclose(got, warped_by_transformers(logits, params), rtol=1e-9, atol=1e-12)


def test_ties_at_the_edge_of_top_k_stay_as_in_transformers() -> None:
    logits = np.array([1.0, 3.0, 2.0, 2.0, 0.0], dtype=np.float32)
    params = SamplingParams(temperature=1.0, top_k=2)
    ids, probs = probable(logits, params)
    assert sorted(ids.tolist()) == [1, 2, 3]
    assert np.flatnonzero(warped_by_transformers(logits, params)).tolist() == [1, 2, 3]
    assert probs.sum() == pytest.approx(1)


def test_top_p_stops_where_the_sum_is_reached_exactly() -> None:
    logits = np.zeros(4, dtype=np.float32)
    params = SamplingParams(temperature=1.0, top_p=0.5)
    ids, _ = candidates(logits, params)
    assert len(ids) == np.count_nonzero(warped_by_transformers(logits, params)) == 2


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.floats(-50, 50, width=32), min_size=1, max_size=60),
    st.floats(0.01, 10),
    st.integers(0, 70),
    st.floats(1e-6, 1),
    st.floats(0, 1),
)
def test_the_likeliest_token_is_always_a_candidate(
    values: list[float], temperature: float, top_k: int, top_p: float, min_p: float
) -> None:
    logits = np.array(values, dtype=np.float32)
    params = SamplingParams(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p)
    ids, probs = probable(logits, params)
    assert logits[ids].max() == logits.max()
    assert len(set(ids.tolist())) == len(ids)
    assert probs.sum() == pytest.approx(1)


@pytest.mark.parametrize("penalty", [1.3, 0.7])
def test_repetition_penalty_is_that_of_transformers(penalty: float) -> None:
    import torch
    from transformers import RepetitionPenaltyLogitsProcessor

    prompt, outputs = [3, 7, 7, 11], [7, 20]
    sampler = Sampler(replace(GREEDY, repetition_penalty=penalty), prompt, VOCAB_SIZE)
    for token_id in outputs:
        spike = np.zeros(VOCAB_SIZE, dtype=np.float32)
        spike[token_id] = 100
        assert sampler.sample(spike) == token_id
    logits = random_logits(1)
    processor = RepetitionPenaltyLogitsProcessor(penalty)
    want = processor(torch.tensor([prompt + outputs]), torch.from_numpy(logits.copy())[None])[0]
    assert np.array_equal(sampler.penalize(logits), want.numpy())


def test_presence_and_frequency_penalties_count_the_output_alone() -> None:
    params = replace(GREEDY, presence_penalty=0.5, frequency_penalty=0.25)
    sampler = Sampler(params, [4], VOCAB_SIZE)
    for token_id in (9, 9, 9, 2):
        spike = np.zeros(VOCAB_SIZE, dtype=np.float32)
        spike[token_id] = 100
        assert sampler.sample(spike) == token_id
    penalized = sampler.penalize(np.zeros(VOCAB_SIZE, dtype=np.float32))
    assert penalized[9] == -0.5 - 3 * 0.25
    assert penalized[2] == -0.5 - 0.25
    assert np.count_nonzero(penalized) == 2


def test_greedy_takes_the_lowest_id_of_equals() -> None:
    logits = np.array([0.0, 5.0, 5.0, 1.0], dtype=np.float32)
    assert Sampler(GREEDY, [], 4).sample(logits) == 1


def test_a_tiny_temperature_is_greedy_and_does_not_overflow() -> None:
    logits = random_logits(2)
    sampler = Sampler(SamplingParams(temperature=1e-30, seed=1), [], VOCAB_SIZE)
    assert sampler.sample(logits) == int(logits.argmax())


def draw(seed: int | None, num: int = 40) -> list[int]:
    sampler = Sampler(SamplingParams(temperature=1.5, seed=seed), [], VOCAB_SIZE)
    return [sampler.sample(random_logits(i)) for i in range(num)]


def test_equal_seeds_draw_equal_tokens_whatever_else_draws() -> None:
    first = draw(17)
    np.random.default_rng().random(5)
    assert draw(17) == first
    assert draw(18) != first
    assert draw(None) != draw(None)
    assert draw(-1) == draw(-1)


def test_draws_follow_the_probabilities() -> None:
    logits = np.log(np.array([0.5, 0.3, 0.2], dtype=np.float32))
    sampler = Sampler(SamplingParams(temperature=1.0, seed=0), [], 3)
    counts = np.bincount([sampler.sample(logits) for _ in range(20_000)], minlength=3)
    # Four standard deviations of a binomial of 20,000.
    np.testing.assert_allclose(counts / 20_000, [0.5, 0.3, 0.2], atol=4 * 0.5 / 20_000**0.5)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_logits_that_are_not_finite_are_told_when_asked(value: float) -> None:
    logits = random_logits()
    logits[3] = value
    sampler = Sampler(GREEDY, [], VOCAB_SIZE)
    assert sampler.sample(logits) == NO_TOKEN
    with pytest.raises(EngineError, match="not finite"):
        sampler.check()


def test_minus_infinity_rules_a_token_out() -> None:
    logits = np.array([-np.inf, 0.0, -np.inf], dtype=np.float32)
    sampler = Sampler(SamplingParams(temperature=1.0, repetition_penalty=1.1), [0], 3)
    assert [sampler.sample(logits) for _ in range(50)] == [1] * 50


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -0.1),
        ("temperature", float("nan")),
        ("top_p", 0.0),
        ("top_p", 1.5),
        ("min_p", -0.1),
        ("top_k", -1),
        ("repetition_penalty", 0.0),
        ("presence_penalty", 3.0),
        ("frequency_penalty", float("inf")),
        ("max_tokens", 0),
    ],
)
def test_parameters_out_of_range_are_named(name: str, value: float) -> None:
    params = replace(SamplingParams(), **{name: value})
    with pytest.raises(UsageError, match=name):
        Sampler(params, [], VOCAB_SIZE)
