"""Models of DeepSeek-V3's design that are not DeepSeek's, as their config.json says."""

from __future__ import annotations

from app.spec.mla_spec import MlaSpec
from app.spec.moe_spec import GroupScoring, RouterScoring
from tests.spec.popular_models import Supported, named, sizes

MOONLIGHT_16B = named(
    "DeepseekV3ForCausalLM",
    "deepseek_v3",
    attention_bias=False,
    aux_loss_alpha=0.001,
    ep_size=1,
    first_k_dense_replace=1,
    hidden_act="silu",
    kv_lora_rank=512,
    moe_intermediate_size=1408,
    moe_layer_freq=1,
    n_group=1,
    n_routed_experts=64,
    n_shared_experts=2,
    num_experts_per_tok=6,
    q_lora_rank=None,
    qk_nope_head_dim=128,
    qk_rope_head_dim=64,
    seq_aux=True,
    tie_word_embeddings=False,
    topk_group=1,
    v_head_dim=128,
    norm_topk_prob=True,
    num_nextn_predict_layers=0,
    rms_norm_eps=1e-5,
    rope_theta=50000.0,
    routed_scaling_factor=2.446,
    scoring_func="sigmoid",
    topk_method="noaux_tc",
    **sizes(2048, 11264, 27, 16, 16, 163840, 8192),
)
LATENT = [
    Supported(
        "Moonlight-16B-A3B",
        MOONLIGHT_16B,
        15.96,
        {
            "mla": MlaSpec(512, 128, 64, 128),
            "head_dim": 192,
            "value_head_dim": 128,
            "attention_multiplier": 192**-0.5,
            "rope.dim": 64,
            "moe.scoring": RouterScoring.SIGMOID,
            "moe.group_scoring": GroupScoring.TOP2_SUM,
            "moe.score_correction_bias": True,
            "moe.sparse_layers": (False, *(True,) * 26),
            "moe.shared_intermediate_size": 2816,
        },
    ),
]
