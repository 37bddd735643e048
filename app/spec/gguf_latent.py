"""GGUF's architecture of multi-head latent attention: DeepSeek-V2 and V3, Kimi-K2, GLM-4.7-Flash.

Facts: ggml-org/llama.cpp:conversion/{deepseek,glm}.py write the files, src/models/deepseek2.cpp
says what stands for a key that is absent. `attention.key_length_mla` is a head's width;
`attention.key_length` beside it is what llama.cpp caches. Older files have the former alone, under
the latter's name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from app.core.sentence import Sentence
from app.spec.gguf_architecture import GgufArchitecture
from app.spec.gguf_metadata import GgufMetadata

_SOFTMAX, _SIGMOID = 1, 2  # expert_gating_func
# conversion/deepseek.py multiplies mscale_all_dim so, in this architecture alone.
_YARN_LOG_SCALE = 0.1
_UNGROUPED = Sentence(
    "The file does not say within which groups a token chooses its experts; it chooses "
    "among all, as in llama.cpp."
)


def _read_deepseek2(
    reader: GgufMetadata, config: Mapping[str, Any], tensors: Collection[str]
) -> Mapping[str, Any]:
    """Both designs share the architecture; the sigmoid of V3's router is what tells it apart."""
    is_v3 = _gating(reader, tensors) == _SIGMOID
    version = 3 if is_v3 else 2
    num_draft_layers = reader.integer("nextn_predict_layers", 0)
    return {
        "architectures": [f"DeepseekV{version}ForCausalLM"],
        "model_type": f"deepseek_v{version}",
        "num_key_value_heads": config["num_attention_heads"],
        "num_hidden_layers": config["num_hidden_layers"] - num_draft_layers,
        "num_nextn_predict_layers": num_draft_layers,
        "attention_bias": False,
        "rope_parameters": _rope(reader, config["rope_parameters"]),
        **_latent_sizes(reader, config["head_dim"]),
        **read_routed_experts(reader),
        **_groups(reader, is_v3=is_v3),
    }


def _gating(reader: GgufMetadata, tensors: Collection[str]) -> int:
    """The first files do not say it; only V3's design corrects the choice of experts."""
    is_corrected = any(name.endswith(".exp_probs_b.bias") for name in tensors)
    gating: int = reader.integer("expert_gating_func", _SIGMOID if is_corrected else _SOFTMAX)
    if gating not in (_SOFTMAX, _SIGMOID):
        raise reader.refuse(
            "expert_gating_func",
            Sentence("{gating} is not known for this architecture", gating=gating),
        )
    return gating


def _latent_sizes(reader: GgufMetadata, rotary_dim: int) -> dict[str, Any]:
    key, value = (reader.integer(f"attention.{name}_length") for name in ("key", "value"))
    key_dim = reader.integer("attention.key_length_mla", key)
    return {
        "kv_lora_rank": reader.integer("attention.kv_lora_rank"),
        "q_lora_rank": reader.integer("attention.q_lora_rank", 0) or None,
        "qk_nope_head_dim": key_dim - rotary_dim,
        "qk_rope_head_dim": rotary_dim,
        "v_head_dim": reader.integer("attention.value_length_mla", value),
    }


def _rope(reader: GgufMetadata, rope: Mapping[str, Any]) -> dict[str, Any]:
    """llama.cpp takes `mscale` for equal to `mscale_all_dim`, as all published models have it."""
    multiplier = reader.number("rope.scaling.yarn_log_multiplier", 0.0)
    if not multiplier or rope["rope_type"] != "yarn":
        return dict(rope)
    mscale = round(multiplier / _YARN_LOG_SCALE, 6)
    return {**rope, "mscale": mscale, "mscale_all_dim": mscale}


def read_routed_experts(reader: GgufMetadata) -> dict[str, Any]:
    """Routed and shared experts, in DeepSeek's words."""
    if not reader.integer("expert_count", 0):
        raise reader.refuse("expert_count", Sentence("a model without experts is not supported"))
    return {
        "n_routed_experts": reader.integer("expert_count"),
        "num_experts_per_tok": reader.integer("expert_used_count"),
        "n_shared_experts": reader.integer("expert_shared_count"),
        "moe_intermediate_size": reader.integer("expert_feed_forward_length"),
        "first_k_dense_replace": reader.integer("leading_dense_block_count"),
        "routed_scaling_factor": reader.number("expert_weights_scale", 0.0) or 1.0,  # 0: never set
        "norm_topk_prob": bool(reader.value("expert_weights_norm", False)),
    }


def _groups(reader: GgufMetadata, *, is_v3: bool) -> dict[str, Any]:
    """Files of before October 2025 do not name them (`_UNGROUPED`)."""
    num_groups = reader.integer("expert_group_count", 1)
    groups = {"n_group": num_groups, "topk_group": reader.integer("expert_group_used_count", 1)}
    if is_v3:
        return groups
    return {**groups, "topk_method": "greedy" if num_groups == 1 else "group_limited_greedy"}


LATENT_ARCHITECTURES = {
    "deepseek2": GgufArchitecture(
        "DeepseekV2ForCausalLM",
        "deepseek_v2",
        read_more=_read_deepseek2,
        neighbour_pairs=True,
        has_experts=True,
        is_latent=True,
        notes_without={"expert_group_count": _UNGROUPED},
    ),
}
