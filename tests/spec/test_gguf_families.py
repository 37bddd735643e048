"""What GGUF metadata of Phi-3, Gemma, Granite and Ministral 3 means, and what is refused of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from app.core.errors import InvalidSourceError, UnsupportedError
from app.spec.gguf_config import config_from_gguf
from app.spec.model_spec import ModelSpec, QueryScaling
from app.spec.registry import create_spec
from app.spec.rope import RopeType
from tests.gguf_factory import Floats, TinyModel, model_metadata

LONG = {"rope_factors_long.weight": np.linspace(1, 9, 8, dtype=np.float32)}
SHORT = {"rope_factors_short.weight": np.ones(8, np.float32)}
LONGROPE = {
    "phi3.rope.scaling.type": "longrope",
    "phi3.rope.scaling.original_context_length": 128,
    "phi3.rope.scaling.attn_factor": 1.25,
    "phi3.attention.sliding_window": 0,
}
GRANITE = {
    "granite.attention.scale": 0.05,
    "granite.embedding_scale": 12.0,
    "granite.residual_scale": 0.22,
    "granite.logit_scale": 8.0,
}
MINISTRAL3 = {
    "mistral3.rope.scaling.type": "yarn",
    "mistral3.rope.scaling.factor": 4.0,
    "mistral3.rope.scaling.original_context_length": 128,
    "mistral3.rope.scaling.yarn_log_multiplier": 1.0,
    "mistral3.attention.temperature_scale": 0.1,
}


def spec_of(
    architecture: str,
    changes: dict[str, Any] | None = None,
    tables: dict[str, Floats] | None = None,
    **sizes: Any,
) -> ModelSpec:
    model = TinyModel(architecture, **sizes)
    metadata = {"general.architecture": architecture, **model_metadata(model), **(changes or {})}
    metadata = {key: value for key, value in metadata.items() if value is not None}
    shapes = {"token_embd.weight": (model.vocab, model.hidden)}
    shapes |= {f"blk.{index}.attn_q.weight": (64, 64) for index in range(model.layers)}
    return create_spec(config_from_gguf(metadata, shapes, tables or {}, file="m.gguf"))


def test_phi_3s_factor_tables_are_longrope() -> None:
    spec = spec_of("phi3", LONGROPE, LONG | SHORT)
    assert spec.rope.rope_type is RopeType.LONGROPE
    assert spec.rope.long_factor == tuple(float(str(v)) for v in LONG["rope_factors_long.weight"])
    assert spec.rope.short_factor == (1.0,) * 8
    assert (spec.rope.cos_sin_factor, spec.rope.original_max_position_embeddings) == (1.25, 128)
    assert spec.sliding_window is None


def test_phi_3_may_rotate_a_part_of_a_head() -> None:
    spec = spec_of("phi3", {"phi3.rope.dimension_count": 12})
    assert (spec.rope.dim, spec.head_dim) == (12, 16)
    # 20 / 96 * 96 is a little less than 20: the share must round to the stored number again.
    spec = spec_of("phi3", {"phi3.rope.dimension_count": 20}, head_dim=96)
    assert (spec.rope.dim, spec.head_dim) == (20, 96)


def test_phi_3s_context_below_its_training_is_plain() -> None:
    spec = spec_of("phi3", {"phi3.rope.scaling.original_context_length": 512})
    assert spec.rope.rope_type is RopeType.DEFAULT


@pytest.mark.parametrize(
    ("architecture", "layers", "want"), [("gemma2", 46, 8), ("gemma3", 62, 8), ("gemma2", 26, 16)]
)
def test_gemmas_scale_is_a_matter_of_size(architecture: str, layers: int, want: int) -> None:
    spec = spec_of(architecture, layers=layers, heads=8)
    assert spec.attention_multiplier == want**-0.5


def test_what_gemma_2_leaves_to_llama_cpp() -> None:
    spec = spec_of("gemma2")
    assert (spec.attn_logit_softcapping, spec.final_logit_softcapping) == (50.0, 30.0)
    assert [spec.layer_window(index) for index in (0, 1)] == [4096, None]
    pattern = np.array([False, True])
    spec = spec_of("gemma2", {"gemma2.attention.sliding_window_pattern": pattern})
    assert [spec.layer_window(index) for index in (0, 1)] == [None, 4096]


def test_gemma_3s_sliding_layers_have_a_rope_of_their_own() -> None:
    scaled = {
        "gemma3.attention.sliding_window": 16,
        "gemma3.rope.scaling.type": "linear",
        "gemma3.rope.scaling.factor": 8.0,
        "gemma3.rope.freq_base": 1e6,
    }
    spec = spec_of("gemma3", scaled, layers=6)
    assert (spec.rope.theta, spec.rope.factor) == (1e6, 8.0)
    assert spec.sliding_rope
    assert (spec.sliding_rope.theta, spec.sliding_rope.factor) == (10_000.0, 1.0)
    assert [spec.layer_window(index) for index in (4, 5)] == [16, None]
    assert spec_of("gemma3").layer_window(0) is None


def test_granites_multipliers_are_required() -> None:
    spec = spec_of("granite", GRANITE)
    assert (spec.attention_multiplier, spec.residual_multiplier) == (0.05, 0.22)
    for name in GRANITE:
        with pytest.raises(InvalidSourceError, match=f"no {name}"):
            spec_of("granite", {**GRANITE, name: None})


def test_mistral_3_without_growing_queries_is_mistral() -> None:
    spec = spec_of("mistral3", MINISTRAL3)
    assert (spec.family, spec.query_scaling) == ("ministral3", QueryScaling(0.1, 128))
    assert spec_of("mistral3").family == "mistral"
    flat = spec_of("mistral3", {**MINISTRAL3, "mistral3.attention.temperature_scale": None})
    assert (flat.family, flat.query_scaling) == ("mistral", None)
    assert flat.rope == spec.rope
    assert spec.rope.cos_sin_factor == 1.0


_REFUSED: dict[str, tuple[str, dict[str, Any], dict[str, Floats], str]] = {
    "granite without rope": (
        "granite",
        {**GRANITE, "granite.rope.scaling.finetuned": False},
        {},
        "Granite without rope",
    ),
    "longrope of a scaled rope": (
        "phi3",
        {**LONGROPE, "phi3.rope.scaling.type": "linear", "phi3.rope.scaling.factor": 2.0},
        LONG | SHORT,
        "'linear' together with rope_factors_long",
    ),
    "gemma pattern": (
        "gemma2",
        {"gemma2.attention.sliding_window_pattern": "often"},
        {},
        "'often' is not supported",
    ),
    "unknown": ("gemma", {"gemma.altup.num_inputs": 4}, {}, r"gemma\.altup\.num_inputs"),
    "rotary dimensions": ("gemma", {"gemma.rope.dimension_count": 8}, {}, "rotating 8 of 16"),
}


@pytest.mark.parametrize("kind", _REFUSED)
def test_what_is_refused_by_name(kind: str) -> None:
    architecture, changes, tables, reason = _REFUSED[kind]
    with pytest.raises(UnsupportedError, match=reason):
        spec_of(architecture, changes, tables)


@pytest.mark.parametrize("name", ["gemma3n", "gemma4", "phimoe", "granitemoe", "granitehybrid"])
def test_relatives_that_compute_differently_are_refused_by_name(name: str) -> None:
    with pytest.raises(UnsupportedError, match=f"the architecture '{name}' is not supported"):
        spec_of(name)


def test_damaged_factor_tables() -> None:
    with pytest.raises(InvalidSourceError, match="only one of"):
        spec_of("phi3", LONGROPE, dict(LONG))
    with pytest.raises(InvalidSourceError, match=r"rope_factors_long\.weight has shape \[6\]"):
        spec_of("phi3", LONGROPE, SHORT | {"rope_factors_long.weight": np.ones(6, np.float32)})
    with pytest.raises(InvalidSourceError, match="not positive"):
        spec_of("phi3", LONGROPE, SHORT | {"rope_factors_long.weight": np.zeros(8, np.float32)})
