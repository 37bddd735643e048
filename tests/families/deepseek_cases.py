"""DeepSeek-V2 and V3."""

from __future__ import annotations

from typing import Any

from tests.family_models import FamilyCase

LATENT: dict[str, Any] = {
    "num_key_value_heads": 4,
    "kv_lora_rank": 32,
    "q_lora_rank": 24,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 8,
    "v_head_dim": 12,
    "moe_intermediate_size": 32,
    "n_routed_experts": 8,
    "n_shared_experts": 2,
    "num_experts_per_tok": 3,
    "n_group": 4,
    "topk_group": 2,
    "first_k_dense_replace": 1,
}
YARN = {
    "rope_type": "yarn",
    "rope_theta": 1000.0,
    "factor": 8.0,
    "mscale": 1.0,
    "mscale_all_dim": 0.707,
    "original_max_position_embeddings": 32,
}

CASES = [
    FamilyCase("deepseek v3", "deepseek_v3", {**LATENT, "routed_scaling_factor": 2.5}),
    FamilyCase(
        "deepseek v3 yarn",
        "deepseek_v3",
        {**LATENT, "q_lora_rank": None, "rope_parameters": YARN, "attention_bias": True},
    ),
    FamilyCase(
        "deepseek v2",
        "deepseek_v2",
        {**LATENT, "topk_method": "group_limited_greedy", "routed_scaling_factor": 4.0},
    ),
    FamilyCase(
        "deepseek v2 lite",
        "deepseek_v2",
        {**LATENT, "q_lora_rank": None, "rope_parameters": YARN, "topk_method": "greedy"},
    ),
]
