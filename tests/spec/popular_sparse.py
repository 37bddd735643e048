"""Mixtures of experts."""

from __future__ import annotations

from app.spec.layer_type import LayerType
from app.spec.moe_spec import ExpertAct, RouterScoring
from tests.spec.popular_models import FULL, SLIDING, Supported, named, sizes

MIXTRAL_8X7B = named(
    "MixtralForCausalLM",
    "mixtral",
    hidden_act="silu",
    rms_norm_eps=1e-5,
    rope_theta=1e6,
    sliding_window=None,
    num_local_experts=8,
    num_experts_per_tok=2,
    output_router_logits=False,
    router_aux_loss_coef=0.02,
    tie_word_embeddings=False,
    **sizes(4096, 14336, 32, 32, 8, 32000, 32768),
)
QWEN_MOE = {
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "rope_theta": 1e6,
    "use_sliding_window": False,
    "decoder_sparse_step": 1,
    "output_router_logits": False,
    "router_aux_loss_coef": 0.001,
    "tie_word_embeddings": False,
}
QWEN15_MOE = named(
    "Qwen2MoeForCausalLM",
    "qwen2_moe",
    **QWEN_MOE,
    sliding_window=32768,
    max_window_layers=21,
    moe_intermediate_size=1408,
    shared_expert_intermediate_size=5632,
    num_experts=60,
    num_experts_per_tok=4,
    norm_topk_prob=False,
    **sizes(2048, 5632, 24, 16, 16, 151936, 8192),
)
QWEN3_30B_A3B = named(
    "Qwen3MoeForCausalLM",
    "qwen3_moe",
    **QWEN_MOE,
    attention_bias=False,
    head_dim=128,
    max_window_layers=48,
    mlp_only_layers=[],
    moe_intermediate_size=768,
    num_experts=128,
    num_experts_per_tok=8,
    norm_topk_prob=True,
    rope_scaling=None,
    sliding_window=None,
    **sizes(2048, 6144, 48, 32, 4, 151936, 40960),
)
GPT_OSS_20B = named(
    "GptOssForCausalLM",
    "gpt_oss",
    attention_bias=True,
    head_dim=64,
    hidden_act="silu",
    experts_per_token=4,
    num_experts_per_tok=4,
    num_local_experts=32,
    initial_context_length=4096,
    layer_types=[SLIDING, FULL] * 12,
    output_router_logits=False,
    router_aux_loss_coef=0.9,
    rms_norm_eps=1e-5,
    rope_scaling={
        "rope_type": "yarn",
        "factor": 32.0,
        "beta_fast": 32.0,
        "beta_slow": 1.0,
        "original_max_position_embeddings": 4096,
        "truncate": False,
    },
    rope_theta=150000,
    sliding_window=128,
    swiglu_limit=7.0,
    tie_word_embeddings=False,
    **sizes(2880, 2880, 24, 64, 8, 201088, 131072),
)

SPARSE = [
    Supported(
        "Mixtral-8x7B",
        MIXTRAL_8X7B,
        46.70,
        {"moe.num_experts": 8, "moe.scoring": RouterScoring.SOFTMAX_TOPK},
    ),
    Supported(
        "Qwen1.5-MoE-A2.7B",
        QWEN15_MOE,
        14.32,
        {
            "moe.shared_intermediate_size": 5632,
            "moe.shared_expert_gate": True,
            "moe.norm_topk_prob": False,
            "moe.num_experts_per_tok": 4,
        },
    ),
    Supported(
        "Qwen3-30B-A3B",
        QWEN3_30B_A3B,
        30.53,
        {
            "moe.scoring": RouterScoring.SOFTMAX,
            "moe.norm_topk_prob": True,
            "moe.moe_intermediate_size": 768,
            "moe.sparse_layers": (True,) * 48,
        },
    ),
    Supported(
        "gpt-oss-20b",
        GPT_OSS_20B,
        20.91,
        {
            "attention_sinks": True,
            "moe.expert_act": ExpertAct.CLAMPED_SWIGLU,
            "moe.expert_bias": True,
            "rope.truncate": False,
            "layer_types": (LayerType.SLIDING, LayerType.FULL) * 12,
        },
    ),
]
