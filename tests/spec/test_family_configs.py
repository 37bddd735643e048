"""Configurations of Phi, Gemma, Granite, Mistral: both spellings, and what is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.errors import UnsupportedError
from app.spec.layer_type import LayerType
from app.spec.model_spec import ModelSpec, NormPlacement, QueryScaling
from app.spec.registry import create_spec
from app.spec.rope import RopeType

SIZES: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 6,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 97,
    "max_position_embeddings": 256,
    "rms_norm_eps": 1e-5,
}
MULTIPLIERS = {
    "attention_multiplier": 0.05,
    "embedding_multiplier": 12.0,
    "residual_multiplier": 0.22,
    "logits_scaling": 8.0,
}
CLASSES = {
    "phi3": "Phi3ForCausalLM",
    "gemma": "GemmaForCausalLM",
    "gemma2": "Gemma2ForCausalLM",
    "gemma3_text": "Gemma3ForCausalLM",
    "granite": "GraniteForCausalLM",
    "mistral": "MistralForCausalLM",
    "ministral": "MinistralForCausalLM",
    "ministral3": "Ministral3ForCausalLM",
}


def spec_of(model_type: str, **changes: Any) -> ModelSpec:
    config = {
        **SIZES,
        **(MULTIPLIERS | {"rope_theta": 1e4} if model_type == "granite" else {}),
        "architectures": [CLASSES[model_type]],
        "model_type": model_type,
        **changes,
    }
    return create_spec({key: value for key, value in config.items() if value != "absent"})


# --- Phi ---------------------------------------------------------------------------------------

FACTORS = {"short_factor": [1.0] * 6, "long_factor": [float(n) for n in range(1, 7)]}


@pytest.mark.parametrize("name", ["su", "longrope"])
def test_both_spellings_of_longrope(name: str) -> None:
    old = spec_of(
        "phi3",
        rope_theta=1e4,
        partial_rotary_factor=0.75,
        rope_scaling={"type": name, **FACTORS},
        original_max_position_embeddings=64,
    )
    parameters = {"rope_type": "longrope", "rope_theta": 1e4, "partial_rotary_factor": 0.75}
    new = spec_of(
        "phi3",
        rope_parameters={**parameters, **FACTORS, "original_max_position_embeddings": 64},
    )
    assert old.rope == new.rope
    assert (old.rope.rope_type, old.rope.dim, old.head_dim) == (RopeType.LONGROPE, 12, 16)
    assert (old.rope.factor, old.rope.original_max_position_embeddings) == (4.0, 64)


def test_every_layer_of_phi_3_slides_or_none() -> None:
    assert spec_of("phi3", sliding_window=9).layer_types == (LayerType.SLIDING,) * 6
    assert spec_of("phi3", sliding_window=None).layer_window(0) is None


# --- Gemma -------------------------------------------------------------------------------------


@pytest.mark.parametrize("model_type", ["gemma", "gemma2", "gemma3_text"])
def test_the_embedding_is_multiplied_by_a_number_of_the_models_dtype(model_type: str) -> None:
    exact = spec_of(model_type, hidden_size=3072, dtype="float32").embedding_multiplier
    rounded = spec_of(model_type, hidden_size=3072, torch_dtype="bfloat16").embedding_multiplier
    assert exact == pytest.approx(3072**0.5, rel=1e-7)
    assert rounded == 55.5
    assert spec_of(model_type).norm_offset == 1.0


def test_gelu_is_gemmas_legacy_word_for_the_tanh_form() -> None:
    assert spec_of("gemma", hidden_act="gelu").hidden_act == "gelu_pytorch_tanh"
    assert spec_of("gemma2").hidden_act == "gelu_pytorch_tanh"
    assert spec_of("gemma2", hidden_activation="silu").hidden_act == "silu"
    with pytest.raises(UnsupportedError, match="hidden_act is 'silu', but"):
        spec_of("gemma", hidden_act="silu", hidden_activation="gelu_pytorch_tanh")


def test_gemma_2s_caps_have_defaults_that_null_switches_off() -> None:
    spec = spec_of("gemma2")
    assert (spec.attn_logit_softcapping, spec.final_logit_softcapping) == (50.0, 30.0)
    spec = spec_of("gemma2", attn_logit_softcapping=None, final_logit_softcapping=None)
    assert (spec.attn_logit_softcapping, spec.final_logit_softcapping) == (None, None)


def test_every_second_layer_of_gemma_2_slides() -> None:
    spec = spec_of("gemma2", sliding_window=9, query_pre_attn_scalar=144)
    assert [spec.layer_window(index) for index in range(4)] == [9, None, 9, None]
    assert spec.attention_multiplier == 1 / 12
    assert (spec.norm_placement, spec.head_dim) == (NormPlacement.SANDWICH, 256)
    assert spec_of("gemma2", layer_types=["full_attention"] * 6).layer_window(0) is None


def test_both_spellings_of_gemma_3s_two_ropes() -> None:
    scaling = {"rope_type": "linear", "factor": 8.0}
    old = spec_of(
        "gemma3_text",
        rope_theta=1e6,
        rope_local_base_freq=1e4,
        rope_scaling=scaling,
        sliding_window_pattern=3,
    )
    kinds = ["sliding_attention", "sliding_attention", "full_attention"] * 2
    new = spec_of(
        "gemma3_text",
        rope_parameters={
            "full_attention": {**scaling, "rope_theta": 1e6},
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        },
        layer_types=kinds,
    )
    assert (old.rope, old.sliding_rope) == (new.rope, new.sliding_rope)
    assert old.layer_types == new.layer_types == tuple(LayerType(kind) for kind in kinds)
    assert (old.rope.factor, old.rope.theta) == (8.0, 1e6)
    assert old.sliding_rope
    assert (old.sliding_rope.factor, old.sliding_rope.theta) == (1.0, 1e4)


# --- Granite, Mistral --------------------------------------------------------------------------


@pytest.mark.parametrize("name", MULTIPLIERS)
def test_a_stripped_multiplier_of_granite_is_refused(name: str) -> None:
    assert spec_of("granite").residual_multiplier == 0.22
    assert spec_of("granite").logits_multiplier == 0.125
    assert spec_of("granite").attention_multiplier == 0.05
    with pytest.raises(UnsupportedError, match=f"has no {name}"):
        spec_of("granite", **{name: "absent"})


def test_mistral_nemos_heads_are_narrower_than_its_hidden_size() -> None:
    spec = spec_of("mistral", head_dim=8, rope_theta=1e6)
    assert (spec.head_dim, spec.q_size, spec.hidden_size) == (8, 32, 64)


def test_ministrals_layers_slide_one_by_one_or_all() -> None:
    kinds = ["full_attention", *["sliding_attention"] * 5]
    spec = spec_of("ministral", rope_theta=1e6, sliding_window=9, layer_types=kinds)
    assert [spec.layer_window(index) for index in (0, 1)] == [None, 9]
    assert spec_of("ministral", rope_theta=1e6, sliding_window=9).layer_window(0) == 9


YARN = {
    "rope_theta": 1e6,
    "factor": 4.0,
    "original_max_position_embeddings": 64,
    "llama_4_scaling_beta": 0.1,
}


def test_both_spellings_of_ministral_3s_rope() -> None:
    rope = {**YARN, "mscale": 1.0, "mscale_all_dim": 1.0, "max_position_embeddings": 256}
    old = {key: value for key, value in rope.items() if key != "rope_theta"}
    specs = [
        spec_of("ministral3", rope_parameters={**rope, "rope_type": "yarn"}),
        spec_of("ministral3", rope_theta=1e6, rope_scaling={**old, "type": "yarn"}),
    ]
    assert specs[0].rope == specs[1].rope
    for spec in specs:
        assert spec.query_scaling == QueryScaling(0.1, 64)
        assert (spec.rope.rope_type, spec.rope.cos_sin_factor) == (RopeType.YARN, 1.0)


# --- refusals ----------------------------------------------------------------------------------

_REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "phi longrope of unknown training": (
        "phi3",
        {"rope_scaling": {"type": "longrope", **FACTORS}, "partial_rotary_factor": 0.75},
        "longrope needs original_max_position_embeddings",
    ),
    "phi two trained lengths": (
        "phi3",
        {
            "rope_scaling": {
                "type": "longrope",
                **FACTORS,
                "original_max_position_embeddings": 32,
            },
            "original_max_position_embeddings": 64,
            "partial_rotary_factor": 0.75,
        },
        "is 32, the model's 64",
    ),
    "phi factors of another dimension": (
        "phi3",
        {
            "rope_scaling": {"type": "su", **FACTORS},
            "original_max_position_embeddings": 64,
        },
        "short_factor has 6 entries; the rotary dimension needs 8",
    ),
    "phi partial attention": ("phi3", {"full_attn_mod": 2}, "full_attn_mod 2 is not"),
    "phi head bias": ("phi3", {"lm_head_bias": True}, "lm_head_bias=True"),
    "phi unknown": ("phi3", {"blocksparse_block_size": 64}, "blocksparse_block_size=64"),
    "gemma both ways": (
        "gemma3_text",
        {"use_bidirectional_attention": True},
        "use_bidirectional_attention=True",
    ),
    "gemma activation": ("gemma2", {"hidden_activation": "relu"}, "'relu' is not implemented"),
    "gemma pattern": ("gemma3_text", {"sliding_window_pattern": 0}, "must be positive, not 0"),
    "gemma unknown": ("gemma", {"vision_feature": 3}, "vision_feature=3"),
    "granite scaling": ("granite", {"logits_scaling": 0.0}, "logits_scaling must be a positive"),
    "granite unknown": ("granite", {"shared_intermediate_size": 9}, "shared_intermediate_size=9"),
    "ministral 3 without growth": (
        "ministral3",
        {"rope_parameters": {**YARN, "rope_type": "yarn", "llama_4_scaling_beta": None}},
        "needs llama_4_scaling_beta",
    ),
    "mistral growth": (
        "mistral",
        {"rope_parameters": {**YARN, "rope_type": "yarn"}},
        "llama_4_scaling_beta=0.1",
    ),
}


@pytest.mark.parametrize("kind", _REFUSED)
def test_what_is_refused_by_name(kind: str) -> None:
    model_type, changes, reason = _REFUSED[kind]
    with pytest.raises(UnsupportedError, match=reason):
        spec_of(model_type, **changes)


@pytest.mark.parametrize(
    "name",
    [
        "Phi3SmallForCausalLM",
        "PhiMoEForCausalLM",
        "Phi4MultimodalForCausalLM",
        "Gemma3nForConditionalGeneration",
        "Gemma4ForCausalLM",
        "Gemma4ForConditionalGeneration",
        "GraniteMoeForCausalLM",
        "GraniteMoeHybridForCausalLM",
        "Mistral4ForCausalLM",
    ],
)
def test_relatives_that_compute_differently_are_refused_by_name(name: str) -> None:
    with pytest.raises(UnsupportedError, match=f"{name} is not supported"):
        create_spec({**SIZES, "architectures": [name]})
