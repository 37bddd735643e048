"""GGUF architectures with experts: what llama.cpp's converter made of each.

Facts: ggml-org/llama.cpp:conversion/{llama,qwen,gpt_oss,glm}.py, src/models/{llama,qwen2moe,
qwen3moe,openai-moe,glm4-moe}.cpp. How experts are weighted is no metadata but a fact of the
architecture.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from app.core.sentence import Sentence
from app.spec.gguf_architecture import ATTENTION_LINEARS, GgufArchitecture, has_biases
from app.spec.gguf_latent import read_routed_experts
from app.spec.gguf_metadata import GgufMetadata

_SOFTMAX, _SIGMOID, _SOFTMAX_OF_CHOSEN = 1, 2, 3  # expert_gating_func


def read_experts(
    reader: GgufMetadata, *, norm_topk_prob: bool, gating: int = _SOFTMAX
) -> dict[str, Any]:
    """How many experts there are and run; refuses weights that the architecture never had."""
    found = reader.integer("expert_gating_func", gating)
    if found != gating:
        raise reader.refuse(
            "expert_gating_func",
            Sentence("{found} is not known for this architecture", found=found),
        )
    if reader.number("expert_weights_scale", 1.0) not in (0.0, 1.0):  # 0: never set
        raise reader.refuse("expert_weights_scale", Sentence("the architecture has no such scale"))
    return {
        "num_experts": reader.integer("expert_count"),
        "num_experts_per_tok": reader.integer("expert_used_count"),
        "norm_topk_prob": bool(reader.value("expert_weights_norm", norm_topk_prob)),
    }


def read_mixtral(reader: GgufMetadata) -> dict[str, Any]:
    """Mixtral shares the architecture of Llama; its experts are what tells it apart."""
    experts = read_experts(reader, norm_topk_prob=True)
    if not experts.pop("norm_topk_prob"):
        raise reader.refuse(
            "expert_weights_norm", Sentence("Mixtral's weights are always normalized")
        )
    return {"architectures": ["MixtralForCausalLM"], "model_type": "mixtral", **experts}


def _read_qwen2_moe(
    reader: GgufMetadata, config: Mapping[str, Any], tensors: Collection[str]
) -> Mapping[str, Any]:
    experts = read_experts(reader, norm_topk_prob=False)
    inner = config["intermediate_size"]  # the first files say no other size
    return {
        **experts,
        "moe_intermediate_size": reader.integer(
            "expert_feed_forward_length", inner // max(1, experts["num_experts_per_tok"])
        ),
        "shared_expert_intermediate_size": reader.integer(
            "expert_shared_feed_forward_length", inner
        ),
    }


def _read_qwen3_moe(
    reader: GgufMetadata, config: Mapping[str, Any], tensors: Collection[str]
) -> Mapping[str, Any]:
    size = reader.integer("expert_feed_forward_length")
    return {**read_experts(reader, norm_topk_prob=True), "moe_intermediate_size": size}


def _read_gpt_oss(
    reader: GgufMetadata, config: Mapping[str, Any], tensors: Collection[str]
) -> Mapping[str, Any]:
    experts = read_experts(reader, norm_topk_prob=False, gating=_SOFTMAX_OF_CHOSEN)
    if experts.pop("norm_topk_prob"):
        raise reader.refuse(
            "expert_weights_norm", Sentence("a softmax over the chosen is normalized")
        )
    if reader.integer("attention.sliding_window_pattern", 2) != 2:
        raise reader.refuse(
            "attention.sliding_window_pattern", Sentence("every other layer slides")
        )
    return {
        **experts,
        "intermediate_size": reader.integer("expert_feed_forward_length"),
        "sliding_window": reader.integer("attention.sliding_window"),
        # Not stored; llama.cpp rounds the bounds of yarn's ramp, the model's own code does not.
        "rope_parameters": {**config["rope_parameters"], "truncate": False},
    }


def _read_glm4_moe(
    reader: GgufMetadata, config: Mapping[str, Any], tensors: Collection[str]
) -> Mapping[str, Any]:
    """The last block predicts a further token; the decoder ends before it."""
    num_draft_layers = reader.integer("nextn_predict_layers", 0)
    gating = reader.integer("expert_gating_func", _SIGMOID)
    if gating != _SIGMOID:
        raise reader.refuse(
            "expert_gating_func",
            Sentence("{gating} is not known for this architecture", gating=gating),
        )
    return {
        **read_routed_experts(reader),
        "num_hidden_layers": config["num_hidden_layers"] - num_draft_layers,
        "num_nextn_predict_layers": num_draft_layers,
        "n_group": reader.integer("expert_group_count", 1),
        "topk_group": reader.integer("expert_group_used_count", 1),
        "attention_bias": has_biases(reader.file, ATTENTION_LINEARS[:3], tensors),
        "use_qk_norm": "blk.0.attn_q_norm.weight" in tensors,
    }


MOE_ARCHITECTURES = {
    "qwen2moe": GgufArchitecture(
        "Qwen2MoeForCausalLM", "qwen2_moe", read_more=_read_qwen2_moe, has_experts=True
    ),
    "qwen3moe": GgufArchitecture(
        "Qwen3MoeForCausalLM", "qwen3_moe", read_more=_read_qwen3_moe, has_experts=True
    ),
    "glm4moe": GgufArchitecture(
        "Glm4MoeForCausalLM",
        "glm4_moe",
        read_more=_read_glm4_moe,
        names={"post_attention_layernorm": "post_attention_norm"},
        partial_rotary=True,
        has_experts=True,
    ),
    "gpt-oss": GgufArchitecture(
        "GptOssForCausalLM",
        "gpt_oss",
        fixed={"hidden_act": "silu", "attention_bias": True},
        read_more=_read_gpt_oss,
        names={"post_attention_layernorm": "post_attention_norm"},
        has_experts=True,
    ),
}
