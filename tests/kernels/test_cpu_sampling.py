"""The native sampler draws the token that Python's definition draws, whatever logits and params."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings

from app.core.errors import EngineError
from app.engine.executors.cpu_plan import native_sampling
from app.engine.request import SamplingParams
from app.engine.sampling import Sampler
from kernels.cpu.native import sample
from tests.kernels.sampling_cases import CHANGES, LOGITS, PARAMS, PLAIN, Logits


def draw_native(sampler: Sampler, logits: Logits) -> int:
    return sampler.record(sample(logits.copy(), native_sampling(sampler)))


def assert_same_tokens(params: SamplingParams, logits: Logits, num_tokens: int = 5) -> None:
    """Tokens drawn one after the other, the penalties of each counting for the next."""
    prompt = [0, len(logits) - 1]
    python, native = (Sampler(params, prompt, len(logits)) for _ in range(2))
    expected = [python.sample(logits) for _ in range(num_tokens)]
    assert [draw_native(native, logits) for _ in range(num_tokens)] == expected


@settings(deadline=None, max_examples=600)
@given(PARAMS, LOGITS)
@example(replace(PLAIN, top_p=0.5), [0.0] * 4)
@example(replace(PLAIN, temperature=1e-30), [1.0, 2.0, 2.0])
def test_tokens_equal_pythons(params: SamplingParams, values: list[float]) -> None:
    assert_same_tokens(params, np.array(values, np.float32))


@pytest.mark.parametrize("changes", CHANGES, ids=str)
@pytest.mark.parametrize("spread", [0.0, 2.0, 12.0])
def test_tokens_of_a_whole_vocabulary_equal_pythons(changes: dict[str, Any], spread: float) -> None:
    logits = np.random.default_rng(1).normal(0, spread, 50_001).astype(np.float32)
    for seed in range(4):
        assert_same_tokens(replace(PLAIN, seed=seed, **changes), logits, num_tokens=4)


@pytest.mark.parametrize("changes", CHANGES, ids=str)
@pytest.mark.parametrize("num_allowed", [1, 3, 20_000])
def test_tokens_behind_a_mask_equal_pythons(changes: dict[str, Any], num_allowed: int) -> None:
    generator = np.random.default_rng(2)
    logits = np.full(50_001, -np.inf, np.float32)
    allowed = generator.choice(50_001, num_allowed, replace=False)
    logits[allowed] = generator.normal(0, 4, num_allowed)
    for seed in range(2):
        assert_same_tokens(replace(PLAIN, seed=seed, **changes), logits, num_tokens=4)


@pytest.mark.parametrize("value", [float("nan"), -float("nan"), float("inf")])
def test_logits_that_are_not_finite_are_refused(value: float) -> None:
    logits = np.zeros(77, np.float32)
    logits[70] = value
    for refused in (logits, np.full(3, -np.inf, np.float32)):
        sampler = Sampler(PLAIN, [], len(refused))
        assert draw_native(sampler, refused) == -1
        with pytest.raises(EngineError, match="not finite"):
            sampler.check()
