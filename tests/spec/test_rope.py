"""Inverse frequencies of every rope type against transformers' own functions."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.errors import UnsupportedError
from app.spec.config_reader import ConfigReader
from app.spec.rope import RopeSpec, RopeType
from app.spec.rope_config import RopeFacts, read_rope, read_ropes

HEAD_DIM = 64
MAX_POSITIONS = 8192
PARAMETERS: dict[str, dict[str, Any]] = {
    "linear": {"factor": 4.0},
    "dynamic": {"factor": 3.0},
    "llama3": {
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 2048,
    },
    "yarn": {"factor": 4.0, "original_max_position_embeddings": 2048},
    "yarn-mscale": {
        "factor": 4.0,
        "original_max_position_embeddings": 2048,
        "mscale": 0.7,
        "mscale_all_dim": 1.1,
    },
    "yarn-wide": {
        "factor": 32.0,
        "original_max_position_embeddings": 4096,
        "beta_fast": 48.0,
        "beta_slow": 2.0,
        "truncate": False,
        "attention_factor": 1.25,
    },
    "longrope": {
        "factor": 4.0,
        "original_max_position_embeddings": 2048,
        "short_factor": [1.0 + 0.01 * i for i in range(HEAD_DIM // 2)],
        "long_factor": [1.0 + 0.5 * i for i in range(HEAD_DIM // 2)],
    },
}


def _read(config: dict[str, Any], default_theta: float | None = None) -> RopeSpec:
    return read_rope(_reader(config), RopeFacts(HEAD_DIM, default_theta))


def _reader(config: dict[str, Any]) -> ConfigReader:
    return ConfigReader({"max_position_embeddings": MAX_POSITIONS, **config})


@pytest.mark.parametrize("case", PARAMETERS)
@pytest.mark.parametrize("length", [1024, 8192, 20000])
def test_inverse_frequencies_equal_transformers(case: str, length: int) -> None:
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    rope_type = case.split("-")[0]
    parameters = {"rope_type": rope_type, "rope_theta": 500_000.0, **PARAMETERS[case]}
    oracle = LlamaConfig(
        hidden_size=HEAD_DIM * 2,
        num_attention_heads=2,
        max_position_embeddings=MAX_POSITIONS,
        rope_parameters=dict(parameters),
    )
    expected, factor = ROPE_INIT_FUNCTIONS[rope_type](oracle, seq_len=length)
    rope = _read({"rope_parameters": parameters})
    np.testing.assert_allclose(rope.inverse_frequencies(length), expected.numpy(), rtol=3e-6)
    assert rope.cos_sin_factor == pytest.approx(factor, rel=1e-9)


def test_default_equals_the_formula() -> None:
    rope = _read({"rope_theta": 10_000.0})
    expected = 10_000.0 ** -(np.arange(0, HEAD_DIM, 2) / HEAD_DIM)
    np.testing.assert_allclose(rope.inverse_frequencies(100), expected, rtol=1e-6)
    assert rope.cos_sin_factor == 1.0


@pytest.mark.parametrize("case", PARAMETERS)
def test_both_spellings_read_alike(case: str) -> None:
    rope_type = case.split("-")[0]
    new = _read(
        {"rope_parameters": {"rope_type": rope_type, "rope_theta": 5e6, **PARAMETERS[case]}}
    )
    old = _read({"rope_theta": 5e6, "rope_scaling": {"type": rope_type, **PARAMETERS[case]}})
    assert new == old
    assert new.theta == 5e6


def test_a_table_is_taken_as_it_stands() -> None:
    table = [1.0 / (i + 1) for i in range(HEAD_DIM // 2)]
    rope = _read(
        {"rope_theta": 10_000.0, "rope_scaling": {"rope_type": "table", "inv_freq": table}}
    )
    assert rope.rope_type is RopeType.TABLE
    np.testing.assert_array_equal(rope.inverse_frequencies(100), np.array(table, dtype=np.float32))


def test_theta_comes_from_the_family_only_when_the_configuration_is_silent() -> None:
    assert _read({}, default_theta=10_000.0).theta == 10_000.0
    assert _read({"rope_theta": 7e5}, default_theta=10_000.0).theta == 7e5
    with pytest.raises(UnsupportedError, match="neither rope_parameters nor rope_theta"):
        _read({})


@pytest.mark.parametrize(
    ("config", "fault"),
    [
        ({"rope_theta": 1e4, "rope_parameters": {"rope_theta": 1e6}}, "rope_theta is"),
        ({"rope_theta": 1e4, "rope_scaling": {"rope_type": "mrope"}}, "'mrope' is not implemented"),
        ({"rope_theta": 1e4, "rope_scaling": {"rope_type": "linear"}}, "needs a factor"),
        (
            {"rope_theta": 1e4, "rope_scaling": {"rope_type": "linear", "factor": -2}},
            "must be positive",
        ),
        (
            {"rope_theta": 1e4, "rope_scaling": {"rope_type": "llama3", "factor": 8}},
            "low_freq_factor",
        ),
        (
            {"rope_theta": 1e4, "rope_scaling": {"rope_type": "linear", "factor": 2, "warp": 3}},
            "warp=3",
        ),
        ({"rope_theta": 0.5}, "greater than 1"),
        ({"rope_parameters": {"full_attention": {"rope_theta": 1e6}}}, "per layer type"),
        (
            {"rope_parameters": {"rope_theta": 1e6, "partial_rotary_factor": 0.5}},
            "partial_rotary_factor 0.5",
        ),
        (
            {
                "rope_parameters": {"rope_type": "linear", "rope_theta": 1e4, "factor": 2},
                "rope_scaling": {"type": "yarn"},
            },
            "different rope types",
        ),
        (
            {
                "rope_theta": 1e4,
                "rope_scaling": {"type": "su", "factor": 2, "short_factor": [1.0]},
                "original_max_position_embeddings": 64,
            },
            "short_factor has 1",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_name(config: dict[str, Any], fault: str) -> None:
    with pytest.raises(UnsupportedError, match=fault):
        _read(config)


NAMES = ["theta", "factor", "low_freq_factor", "high_freq_factor", "beta_fast", "beta_slow"]
NAMES += ["attention_factor", "mscale", "mscale_all_dim"]
NUMBERS = st.sampled_from([0.0, -1.0, 0.5, 1.0, 2.0, 4.0, 32.0, float("nan"), float("inf")])


@settings(max_examples=300, deadline=None)
@given(
    rope_type=st.sampled_from(list(RopeType)),
    dim=st.sampled_from([2, 4, 64]),
    trained=st.sampled_from([0, 1, 2, 4096]),
    numbers=st.fixed_dictionaries(dict.fromkeys(NAMES, NUMBERS)),
    entries=st.lists(NUMBERS, min_size=1, max_size=2),
)
def test_what_is_let_through_turns_by_finite_angles(
    rope_type: RopeType, dim: int, trained: int, numbers: dict[str, float], entries: list[float]
) -> None:
    table = tuple((entries * dim)[: dim // 2])
    rope = RopeSpec(
        dim,
        rope_type,
        original_max_position_embeddings=trained,
        short_factor=table,
        long_factor=table,
        inv_freq=table,
        **{**numbers, "theta": max(numbers["theta"], 1.5)},
    )
    try:
        rope.validate()
    except UnsupportedError:
        return
    assert math.isfinite(rope.cos_sin_factor)
    with np.errstate(all="raise", under="ignore"):
        for length in (1, 2 * trained + 1):
            assert np.isfinite(rope.inverse_frequencies(length)).all()


@pytest.mark.parametrize(
    ("parameters", "fault"),
    [
        ({**PARAMETERS["llama3"], "low_freq_factor": 4.0}, "low_freq_factor 4.0 must be less"),
        ({**PARAMETERS["llama3"], "low_freq_factor": 0}, "low_freq_factor must be positive"),
        ({**PARAMETERS["yarn"], "beta_fast": 0}, "beta_fast must be positive"),
        ({**PARAMETERS["yarn"], "beta_slow": -1.0}, "beta_slow must be positive"),
    ],
)
def test_what_would_be_divided_by_is_refused_by_name(parameters: Any, fault: str) -> None:
    rope_type = "llama3" if "low_freq_factor" in parameters else "yarn"
    with pytest.raises(UnsupportedError, match=fault):
        _read({"rope_theta": 1e4, "rope_scaling": {"rope_type": rope_type, **parameters}})


def test_sliding_layers_have_a_rope_of_their_own_in_both_spellings() -> None:
    facts = RopeFacts(HEAD_DIM, None)
    old = _reader(
        {
            "rope_theta": 1e6,
            "rope_local_base_freq": 1e4,
            "rope_scaling": {"rope_type": "linear", "factor": 8.0},
        }
    )
    full = {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6}
    sliding = {"rope_type": "default", "rope_theta": 1e4}
    new = _reader({"rope_parameters": {"full_attention": full, "sliding_attention": sliding}})
    ropes = read_ropes(new, facts)
    assert ropes == read_ropes(old, facts)
    assert (ropes[0].theta, ropes[0].factor) == (1e6, 8.0)
    assert ropes[1] is not None
    assert (ropes[1].theta, ropes[1].rope_type) == (1e4, RopeType.DEFAULT)


def test_a_sliding_rope_that_does_not_differ_is_none() -> None:
    assert read_ropes(_reader({"rope_theta": 5e5}), RopeFacts(HEAD_DIM, None))[1] is None


@pytest.mark.parametrize("where", ["inside", "outside"])
def test_partial_rotary_factor_counts_where_the_family_knows_it(where: str) -> None:
    share = {"partial_rotary_factor": 0.5}
    inside = share if where == "inside" else {}
    config = {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, **inside}}
    reader = _reader(config if inside else {**config, **share})
    assert read_rope(reader, RopeFacts(HEAD_DIM, None, partial_rotary=True)).dim == HEAD_DIM // 2
