"""Mixtral, Qwen2-MoE, Qwen3-MoE, gpt-oss."""

from __future__ import annotations

from tests.family_models import FamilyCase

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

CASES = [
    FamilyCase("mixtral", "mixtral", MIXTRAL),
    FamilyCase("mixtral window", "mixtral", {**MIXTRAL, "sliding_window": 9, "head_dim": 16}),
    FamilyCase("qwen2 moe", "qwen2_moe", QWEN2),
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
    FamilyCase("qwen3 moe", "qwen3_moe", {**QWEN, "norm_topk_prob": True, "head_dim": 16}),
    FamilyCase(
        "qwen3 moe one dense layer",
        "qwen3_moe",
        {**QWEN, "mlp_only_layers": [1], "use_sliding_window": True, "sliding_window": 9},
    ),
    FamilyCase("gpt oss", "gpt_oss", GPT_OSS),
]
