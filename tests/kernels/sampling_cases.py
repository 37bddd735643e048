"""Logits and parameters on which every sampler must draw the token that Python draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from app.engine.request import SamplingParams

Logits = npt.NDArray[np.float32]
PLAIN = SamplingParams(temperature=1.0, seed=0)

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
CHANGES: list[dict[str, Any]] = [
    {},
    {"temperature": 0.0},
    {"temperature": 100.0},
    {"top_k": 40},
    {"top_p": 0.9},
    {"top_p": 0.999, "temperature": 3.0},
    {"min_p": 0.05},
    {"top_k": 40, "top_p": 0.95, "min_p": 0.01, "temperature": 0.7},
    {"repetition_penalty": 1.1, "presence_penalty": 0.5, "frequency_penalty": 0.2},
]
