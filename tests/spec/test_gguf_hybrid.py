"""What GGUF metadata of Qwen3-Next and Qwen3.5 means, and what of it is refused."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.errors import InvalidSourceError, UnsupportedError
from app.spec.delta_net_spec import DeltaNetSpec
from app.spec.gguf_config import config_from_gguf
from app.spec.layer_type import LayerType
from app.spec.model_spec import ModelSpec
from app.spec.registry import create_spec

# Qwen3.5-35B-A3B as llama.cpp's converter writes it, its drafting block included.
QWEN35_MOE: dict[str, Any] = {
    "block_count": 41,
    "nextn_predict_layers": 1,
    "context_length": 262144,
    "embedding_length": 2048,
    "attention.head_count": 16,
    "attention.head_count_kv": 2,
    "attention.key_length": 256,
    "attention.value_length": 256,
    "attention.layer_norm_rms_epsilon": 1e-6,
    "expert_count": 256,
    "expert_used_count": 8,
    "expert_feed_forward_length": 512,
    "expert_shared_feed_forward_length": 512,
    "full_attention_interval": 4,
    "rope.dimension_count": 64,
    "rope.dimension_sections": [11, 11, 10, 0],
    "rope.freq_base": 1e7,
    "ssm.conv_kernel": 4,
    "ssm.group_count": 16,
    "ssm.inner_size": 4096,
    "ssm.state_size": 128,
    "ssm.time_step_rank": 32,
}


def spec_of(changes: dict[str, Any], architecture: str = "qwen35moe") -> ModelSpec:
    """None drops a key."""
    keys = {key: value for key, value in {**QWEN35_MOE, **changes}.items() if value is not None}
    metadata = {f"{architecture}.{key}": value for key, value in keys.items()}
    shapes = {"token_embd.weight": (248320, 2048), "output.weight": (248320, 2048)}
    shapes |= {f"blk.{index}.attn_norm.weight": (2048,) for index in range(41)}
    metadata["general.architecture"] = architecture
    return create_spec(config_from_gguf(metadata, shapes, {}, file="m.gguf"))


def test_the_words_of_mamba_are_sizes_of_heads() -> None:
    spec = spec_of({})
    assert spec.delta_net == DeltaNetSpec(16, 32, 128, 128, 4)
    assert spec.layer_types == ((LayerType.LINEAR,) * 3 + (LayerType.FULL,)) * 10
    assert (spec.rope.dim, spec.rope.theta, spec.norm_offset) == (64, 1e7, 1.0)
    assert spec.moe is not None
    assert (spec.moe.shared_intermediate_size, spec.moe.norm_topk_prob) == (512, True)


def test_the_interval_of_the_first_files_is_four() -> None:
    changes = {"nextn_predict_layers": None, "rope.dimension_sections": None}
    sizes = {"block_count": 40, "feed_forward_length": 5120, "full_attention_interval": None}
    spec = spec_of({**changes, **sizes}, "qwen3next")
    assert (spec.num_cached_layers, spec.intermediate_size) == (10, 5120)


@pytest.mark.parametrize(
    ("changes", "error", "reason"),
    [
        ({"ssm.inner_size": 4095}, UnsupportedError, "4095 is no multiple of 32 heads"),
        ({"ssm.time_step_rank": 0}, UnsupportedError, "4096 is no multiple of 0 heads"),
        ({"ssm.conv_kernel": 1}, UnsupportedError, "linear_conv_kernel_dim must be at least 2"),
        ({"ssm.state_size": None}, InvalidSourceError, r"no qwen35moe\.ssm\.state_size"),
        ({"expert_gating_func": 2}, UnsupportedError, "2 is not known"),
        ({"ssm.dt_b_c_rms": True}, UnsupportedError, "does not understand.*dt_b_c_rms"),
        ({"full_attention_interval": 0}, UnsupportedError, "must be positive, not 0"),
    ],
    ids=str,
)
def test_what_is_refused_of_it(
    changes: dict[str, Any], error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        spec_of(changes)
