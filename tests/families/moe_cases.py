"""Mixtral, Qwen2-MoE, Qwen3-MoE, gpt-oss, GLM-4.5."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tests.family_models import Config, FamilyCase, GgufLayout, Tensors, stack_experts

MIXTRAL = {"num_local_experts": 4, "num_experts_per_tok": 2}
QWEN = {"num_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 32}
QWEN2 = {**QWEN, "shared_expert_intermediate_size": 64}
GPT_OSS = {
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "intermediate_size": 64,
    "head_dim": 16,
    "sliding_window": 9,
    "rope_parameters": {
        "rope_type": "yarn",
        "rope_theta": 1000.0,
        "factor": 8.0,
        "beta_fast": 32.0,
        "beta_slow": 1.0,
        "truncate": False,
        "original_max_position_embeddings": 32,
    },
}
GLM4_MOE = {
    "head_dim": 16,
    "n_routed_experts": 8,
    "n_shared_experts": 2,
    "num_experts_per_tok": 3,
    "moe_intermediate_size": 32,
    "first_k_dense_replace": 1,
    "routed_scaling_factor": 1.5,
}


def _experts(config: Config) -> dict[str, Any]:
    """What llama.cpp's converter writes for every family with experts."""
    return {
        "expert_count": config.get("num_local_experts") or config["num_experts"],
        "expert_used_count": config["num_experts_per_tok"],
        "expert_feed_forward_length": config.get("moe_intermediate_size"),
    }


def _mixtral(config: Config) -> dict[str, Any]:
    return _experts(config) | {"attention.sliding_window": config["sliding_window"]}


def _qwen2_moe(config: Config) -> dict[str, Any]:
    size = config["shared_expert_intermediate_size"]
    return _experts(config) | {"expert_shared_feed_forward_length": size}


def _gpt_oss(config: Config) -> dict[str, Any]:
    rope = config["rope_parameters"]
    return _experts(config) | {
        "expert_feed_forward_length": config["intermediate_size"],
        "attention.sliding_window": config["sliding_window"],
        "rope.scaling.type": "yarn",
        "rope.scaling.factor": rope["factor"],
        "rope.scaling.original_context_length": rope["original_max_position_embeddings"],
    }


def _glm4_moe(config: Config) -> dict[str, Any]:
    return {
        "rope.dimension_count": config["head_dim"] // 2,
        "leading_dense_block_count": config["first_k_dense_replace"],
        "expert_count": config["n_routed_experts"],
        "expert_used_count": config["num_experts_per_tok"],
        "expert_shared_count": config["n_shared_experts"],
        "expert_feed_forward_length": config["moe_intermediate_size"],
        "expert_weights_scale": config["routed_scaling_factor"],
        "expert_weights_norm": config["norm_topk_prob"],
        "expert_gating_func": 2,
    }


def _stack_glm(config: Config, tensors: Tensors) -> Tensors:
    stacked = stack_qwen(config, tensors)
    # As llama.cpp's converter spells it, so that gguf knows it as a bias.
    return {
        name.replace("e_score_correction_bias", "e_score_correction.bias"): values
        for name, values in stacked.items()
    }


def _with_draft_layer(config: Config) -> dict[str, Any]:
    return _glm4_moe(config) | {
        "block_count": config["num_hidden_layers"] + 1,
        "nextn_predict_layers": 1,
    }


def _draft_layer(config: Config) -> Tensors:
    """What predicts a further token: a block of its own, here the parts that no other has."""
    hidden, last = config["hidden_size"], config["num_hidden_layers"]
    return {
        f"blk.{last}.nextn.eh_proj.weight": np.ones((hidden, 2 * hidden), np.float32),
        f"blk.{last}.nextn.enorm.weight": np.ones(hidden, np.float32),
        f"blk.{last}.attn_norm.weight": np.ones(hidden, np.float32),
    }


def _stack_mixtral(config: Config, tensors: Tensors) -> Tensors:
    parts = {name: f"block_sparse_moe.experts.{name}" for name in ("w1", "w2", "w3")}
    return stack_experts(tensors, "block_sparse_moe.experts", parts)


def stack_qwen(config: Config, tensors: Tensors) -> Tensors:
    """A gate of one row is stored as a vector."""
    parts = {name: f"mlp.experts.{name}" for name in ("gate_proj", "up_proj", "down_proj")}
    stacked = stack_experts(tensors, "mlp.experts", parts)
    return {n: t[0] if "shared_expert_gate" in n else t for n, t in stacked.items()}


def _split_gpt_oss(config: Config, tensors: Tensors) -> Tensors:
    """gate and up take turns in the folder's last axis, and stand apart in the file."""
    found: Tensors = {}
    for name, values in tensors.items():
        experts = re.fullmatch(r"(.+experts)\.(gate_up|down)_proj(_bias)?", name)
        if experts is None:
            found[f"{name}.weight" if name.endswith("sinks") else name] = values
            continue
        stem, part, array = experts[1], experts[2], "bias" if experts[3] else "weight"
        rows = values if experts[3] else values.swapaxes(1, 2)
        pieces = {"down": rows} if part == "down" else {"gate": rows[:, ::2], "up": rows[:, 1::2]}
        for piece, array_of in pieces.items():
            found[f"{stem}.{piece}_proj.{array}"] = np.ascontiguousarray(array_of)
    return found


_MIXTRAL_GGUF = GgufLayout("llama", _mixtral, permuted=True, transform=_stack_mixtral)
_QWEN2_GGUF = GgufLayout("qwen2moe", _qwen2_moe, transform=stack_qwen)
_QWEN3_GGUF = GgufLayout("qwen3moe", _experts, transform=stack_qwen)
_GLM_GGUF = GgufLayout("glm4moe", _glm4_moe, transform=_stack_glm)
_GLM_DRAFT_GGUF = GgufLayout("glm4moe", _with_draft_layer, transform=_stack_glm, extra=_draft_layer)
_GPT_OSS_GGUF = GgufLayout("gpt-oss", _gpt_oss, transform=_split_gpt_oss)

CASES = [
    FamilyCase("mixtral", "mixtral", MIXTRAL, _MIXTRAL_GGUF),
    FamilyCase(
        "mixtral window",
        "mixtral",
        {**MIXTRAL, "sliding_window": 9, "head_dim": 16},
        _MIXTRAL_GGUF,
    ),
    FamilyCase("qwen2 moe", "qwen2_moe", QWEN2, _QWEN2_GGUF),
    FamilyCase(
        "qwen2 moe some layers",
        "qwen2_moe",
        {
            **QWEN2,
            "norm_topk_prob": True,
            "decoder_sparse_step": 2,
            "num_hidden_layers": 4,
            "mlp_only_layers": [3],
            "use_sliding_window": True,
            "sliding_window": 9,
        },
    ),
    FamilyCase(
        "qwen3 moe",
        "qwen3_moe",
        {**QWEN, "norm_topk_prob": True, "head_dim": 16},
        _QWEN3_GGUF,
    ),
    FamilyCase(
        "qwen3 moe one dense layer",
        "qwen3_moe",
        {**QWEN, "mlp_only_layers": [1], "use_sliding_window": True, "sliding_window": 9},
    ),
    FamilyCase("gpt oss", "gpt_oss", GPT_OSS, _GPT_OSS_GGUF),
    FamilyCase("glm4 moe", "glm4_moe", {**GLM4_MOE, "attention_bias": True}, _GLM_DRAFT_GGUF),
    FamilyCase(
        "glm4 moe groups",
        "glm4_moe",
        {**GLM4_MOE, "use_qk_norm": True, "n_group": 4, "topk_group": 2},
    ),
    FamilyCase("glm4 moe norms", "glm4_moe", {**GLM4_MOE, "use_qk_norm": True}, _GLM_GGUF),
]
