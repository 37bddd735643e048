"""GGUF metadata of the smaller dense families: what their files say, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from app.core.errors import UnsupportedError
from app.spec.gguf_config import config_from_gguf
from app.spec.layer_type import LayerType
from app.spec.model_spec import AttentionBias, ModelSpec
from app.spec.registry import create_spec
from app.spec.rope import RopeType

NUM_LAYERS = 4
FULL, SLIDING = LayerType.FULL, LayerType.SLIDING
_SIZES = {
    "block_count": NUM_LAYERS,
    "context_length": 512,
    "embedding_length": 64,
    "feed_forward_length": 96,
    "attention.head_count": 4,
    "attention.head_count_kv": 2,
    "attention.key_length": 16,
    "attention.value_length": 16,
    "attention.layer_norm_rms_epsilon": 1e-5,
    "rope.freq_base": 10000.0,
}
_QKV = ("attn_q", "attn_k", "attn_v")


def spec_of(architecture: str, biases: tuple[str, ...] = (), **keys: Any) -> ModelSpec:
    """`keys` in the metadata's words, dots as double underscores; None drops one."""
    stored = _SIZES | {name.replace("__", "."): value for name, value in keys.items()}
    metadata: dict[str, Any] = {"general.architecture": architecture}
    metadata |= {f"{architecture}.{key}": v for key, v in stored.items() if v is not None}
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (100, 64)}
    shapes |= {f"blk.0.{name}.bias": (1,) for name in biases}
    shapes |= {f"blk.{index}.attn_q.weight": (64, 64) for index in range(NUM_LAYERS)}
    return create_spec(config_from_gguf(metadata, shapes, {}, file="m.gguf"))


def test_smollm3_lets_every_fourth_layer_do_without_rope() -> None:
    spec = spec_of("smollm3")
    assert spec.rope_layers == (True, True, True, False)
    assert spec.attention_bias == AttentionBias()
    assert spec_of("smollm3", (*_QKV, "attn_output")).attention_bias.o


def test_olmo3_is_told_apart_by_its_window() -> None:
    assert spec_of("olmo2").family == "olmo2"
    spec = spec_of(
        "olmo2",
        attention__sliding_window=128,
        rope__scaling__type="yarn",
        rope__scaling__factor=8.0,
        rope__scaling__original_context_length=64,
        rope__scaling__yarn_attn_factor=1.25,
        rope__scaling__yarn_ext_factor=1.0,
        rope__scaling__yarn_beta_fast=16.0,
    )
    assert (spec.family, spec.sliding_window) == ("olmo3", 128)
    assert spec.layer_types == (SLIDING, SLIDING, SLIDING, FULL)
    assert (spec.rope.rope_type, spec.rope.factor) == (RopeType.YARN, 8.0)
    assert (spec.rope.cos_sin_factor, spec.rope.beta_fast) == (1.25, 16.0)
    assert spec.sliding_rope is not None
    assert (spec.sliding_rope.rope_type, spec.sliding_rope.theta) == (RopeType.DEFAULT, 10000.0)


def test_sliding_layers_may_have_their_own_theta() -> None:
    spec = spec_of("olmo2", attention__sliding_window=128, rope__freq_base_swa=500.0)
    assert spec.sliding_rope is not None
    assert (spec.rope.theta, spec.sliding_rope.theta) == (10000.0, 500.0)


@pytest.mark.parametrize(
    ("pattern", "kinds"),
    [
        (np.array([True, False, False, True]), (SLIDING, FULL, FULL, SLIDING)),
        (2, (SLIDING, FULL, SLIDING, FULL)),
        (None, (SLIDING, SLIDING, SLIDING, FULL)),
    ],
)
def test_a_pattern_is_a_flag_for_each_layer_or_a_period(pattern: Any, kinds: Any) -> None:
    keys = {"attention__sliding_window": 128, "attention__sliding_window_pattern": pattern}
    spec = spec_of("exaone4", **keys)
    assert spec.layer_types == kinds
    assert spec.rope_layers == tuple(kind is SLIDING for kind in kinds)


def test_exaone4_without_a_window_rotates_everywhere() -> None:
    spec = spec_of("exaone4")
    assert (spec.rope_layers, spec.layer_types) == ((), (FULL,) * NUM_LAYERS)


@pytest.mark.parametrize("architecture", ["glm4", "chatglm"])
def test_glm_rotates_half_a_head_and_has_three_biases(architecture: str) -> None:
    spec = spec_of(architecture, _QKV, rope__dimension_count=8)
    assert (spec.rope.dim, spec.attention_bias) == (8, AttentionBias(q=True, k=True, v=True))
    assert spec_of(architecture, rope__dimension_count=8).attention_bias == AttentionBias()
    assert spec_of(architecture, ("attn_qkv",), rope__dimension_count=8).attention_bias.q


def test_seed_oss_and_starcoder2_have_the_biases_that_are_stored() -> None:
    assert spec_of("seed_oss", _QKV).attention_bias == AttentionBias(q=True, k=True, v=True)
    assert not spec_of("seed_oss").attention_bias.q
    norms = {
        "attention__layer_norm_rms_epsilon": None,
        "attention__layer_norm_epsilon": 1e-5,
    }
    everywhere = (*_QKV, "attn_output", "ffn_up", "ffn_down")
    starcoder2 = spec_of("starcoder2", everywhere, **norms)
    assert starcoder2.mlp_bias
    assert starcoder2.hidden_act == "gelu_pytorch_tanh"
    assert not spec_of("starcoder2", **norms).mlp_bias
    with pytest.raises(UnsupportedError, match="only attn_q, attn_k, attn_v of"):
        spec_of("starcoder2", _QKV, **norms)


def test_what_only_pictures_need_is_left_aside() -> None:
    axes = {"rope__dimension_sections": np.array([4, 2, 2, 0])}
    assert spec_of("qwen2vl", **axes).family == "qwen2"
    assert spec_of("qwen3vl", **axes, n_deepstack_layers=3).family == "qwen3"


@pytest.mark.parametrize(
    ("architecture", "keys", "reason"),
    [
        ("glm4", {"rope__dimension_sections": np.array([8, 12, 12, 0])}, "dimension_sections"),
        ("glm4", {"nextn_predict_layers": 1}, "nextn_predict_layers"),
        ("smollm3", {"rope__dimension_count": 8}, "rotating 8 of 16"),
        ("smollm3", {"attention__sliding_window": 128}, "attention.sliding_window"),
        ("seed_oss", {"expert_count": 8}, "mixture of experts"),
        (
            "exaone4",
            {"attention__sliding_window": 128, "attention__sliding_window_pattern": "LLLG"},
            "'LLLG' is not supported",
        ),
        (
            "exaone4",
            {
                "attention__sliding_window": 128,
                "attention__sliding_window_pattern": np.array([True, False]),
            },
            "names 2 layers",
        ),
        ("olmo2", {"rope__scaling__yarn_ext_factor": 0.5}, "yarn_ext_factor: only 1"),
    ],
)
def test_what_is_refused_by_name(architecture: str, keys: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        spec_of(architecture, **keys)
