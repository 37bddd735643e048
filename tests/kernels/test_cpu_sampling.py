"""The native sampler draws the token that Python's definition draws, whatever logits and params."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.core.errors import EngineError
from app.engine.executors.cpu_plan import native_sampling
from app.engine.request import SamplingParams
from app.engine.sampling import Sampler
from kernels.cpu.native import sample

Logits = npt.NDArray[np.float32]
PLAIN = SamplingParams(temperature=1.0, seed=0)


def draw_native(sampler: Sampler, logits: Logits) -> int:
    return sampler.record(sample(logits.copy(), native_sampling(sampler)))


def assert_same_tokens(params: SamplingParams, logits: Logits, num_tokens: int = 5) -> None:
    """Tokens drawn one after the other, the penalties of each counting for the next."""
    prompt = [0, len(logits) - 1]
    python, native = (Sampler(params, prompt, len(logits)) for _ in range(2))
    expected = [python.sample(logits) for _ in range(num_tokens)]
    assert [draw_native(native, logits) for _ in range(num_tokens)] == expected


# Few different numbers make ties; wide ones reach weights of nothing.
VALUES = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.5, -float("inf")]),
    st.floats(-50, 50, width=32),
)
LOGITS = st.lists(VALUES, min_size=1, max_size=90).filter(lambda values: max(values) > -1e30)
PARAMS = st.builds(
    SamplingParams,
    temperature=st.one_of(st.just(0.0), st.floats(0.01, 5)),
    top_k=st.integers(0, 100),
    top_p=st.one_of(st.just(1.0), st.sampled_from([0.5, 0.25]), st.floats(1e-6, 1)),
    min_p=st.one_of(st.just(0.0), st.floats(0, 1)),
    repetition_penalty=st.one_of(st.just(1.0), st.floats(0.5, 2)),
    presence_penalty=st.one_of(st.just(0.0), st.floats(-2, 2)),
    frequency_penalty=st.one_of(st.just(0.0), st.floats(-2, 2)),
    seed=st.integers(-(2**63), 2**64 - 1),
)


@settings(deadline=None, max_examples=600)
@given(PARAMS, LOGITS)
@example(replace(PLAIN, top_p=0.5), [0.0] * 4)
@example(replace(PLAIN, temperature=1e-30), [1.0, 2.0, 2.0])
def test_tokens_equal_pythons(params: SamplingParams, values: list[float]) -> None:
    assert_same_tokens(params, np.array(values, np.float32))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"temperature": 0.0},
        {"temperature": 100.0},
        {"top_k": 40},
        {"top_p": 0.9},
        {"top_p": 0.999, "temperature": 3.0},
        {"min_p": 0.05},
        {"top_k": 40, "top_p": 0.95, "min_p": 0.01, "temperature": 0.7},
        {"repetition_penalty": 1.1, "presence_penalty": 0.5, "frequency_penalty": 0.2},
    ],
    ids=str,
)
@pytest.mark.parametrize("spread", [0.0, 2.0, 12.0])
def test_tokens_of_a_whole_vocabulary_equal_pythons(changes: dict[str, Any], spread: float) -> None:
    logits = np.random.default_rng(1).normal(0, spread, 50_001).astype(np.float32)
    for seed in range(4):
        assert_same_tokens(replace(PLAIN, seed=seed, **changes), logits, num_tokens=4)


@pytest.mark.parametrize("value", [float("nan"), -float("nan"), float("inf")])
def test_logits_that_are_not_finite_are_refused(value: float) -> None:
    logits = np.zeros(77, np.float32)
    logits[70] = value
    with pytest.raises(EngineError, match="not finite"):
        draw_native(Sampler(PLAIN, [], 77), logits)
    with pytest.raises(EngineError, match="not finite"):
        draw_native(Sampler(PLAIN, [], 3), np.full(3, -np.inf, np.float32))
