"""Gated delta nets between layers of attention: Qwen3-Next and Qwen3.5."""

from __future__ import annotations

from typing import Any

from app.spec.layer_type import LayerType
from app.spec.model_spec import QKNorm
from tests.spec.popular_models import FULL, Config, Supported, every_fourth, named, sizes

LINEAR = "linear_attention"

QWEN3_NEXT = named(
    "Qwen3NextForCausalLM",
    "qwen3_next",
    attention_bias=False,
    attention_dropout=0.0,
    bos_token_id=151643,
    eos_token_id=151645,
    decoder_sparse_step=1,
    full_attention_interval=4,
    head_dim=256,
    hidden_act="silu",
    linear_conv_kernel_dim=4,
    linear_key_head_dim=128,
    linear_num_key_heads=16,
    linear_num_value_heads=32,
    linear_value_head_dim=128,
    mlp_only_layers=[],
    moe_intermediate_size=512,
    norm_topk_prob=True,
    num_experts=512,
    num_experts_per_tok=10,
    output_router_logits=False,
    partial_rotary_factor=0.25,
    rms_norm_eps=1e-6,
    rope_scaling=None,
    rope_theta=10000000,
    router_aux_loss_coef=0.001,
    shared_expert_intermediate_size=512,
    tie_word_embeddings=False,
    use_sliding_window=False,
    **sizes(2048, 5120, 48, 16, 2, 151936, 262144),
)


def _text(size: Config, num_value_heads: int, **others: Any) -> Config:
    return {
        "model_type": "qwen3_5_text",
        "attention_bias": False,
        "attn_output_gate": True,
        "dtype": "bfloat16",
        "eos_token_id": 248044,
        "full_attention_interval": 4,
        "head_dim": 256,
        "hidden_act": "silu",
        "layer_types": every_fourth(LINEAR, FULL, size["num_hidden_layers"]),
        "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": 128,
        "linear_num_key_heads": 16,
        "linear_num_value_heads": num_value_heads,
        "linear_value_head_dim": 128,
        "mamba_ssm_dtype": "float32",
        "mlp_only_layers": [],
        "mtp_num_hidden_layers": 1,
        "mtp_use_dedicated_embeddings": False,
        "rms_norm_eps": 1e-6,
        "rope_parameters": {
            "mrope_interleaved": True,
            "mrope_section": [11, 11, 10],
            "partial_rotary_factor": 0.25,
            "rope_theta": 10000000,
            "rope_type": "default",
        },
        **size,
        **others,
    }


def _moe_text(size: Config, num_value_heads: int, inner: int, experts: int, top_k: int) -> Config:
    text = _text(size, num_value_heads, model_type="qwen3_5_moe_text")
    del text["intermediate_size"]
    return text | {
        "moe_intermediate_size": inner,
        "shared_expert_intermediate_size": inner,
        "num_experts": experts,
        "num_experts_per_tok": top_k,
        "output_router_logits": False,
        "router_aux_loss_coef": 0.001,
    }


def _seeing(text: Config, *, is_tied: bool = False) -> Config:
    """The whole configuration around a text's."""
    kind = text["model_type"].removesuffix("_text")
    name = "Qwen3_5Moe" if kind == "qwen3_5_moe" else "Qwen3_5"
    return named(
        f"{name}ForConditionalGeneration",
        kind,
        image_token_id=248056,
        video_token_id=248057,
        vision_start_token_id=248053,
        vision_end_token_id=248054,
        language_model_only=False,
        tie_word_embeddings=is_tied,
        text_config=text,
        vision_config={"model_type": kind, "depth": 27},
    )


_4B = _text(sizes(2560, 9216, 32, 16, 4, 248320, 262144), 32)
_35B = _moe_text(sizes(2048, 1, 40, 16, 2, 248320, 262144), 32, 512, 256, 8)
QWEN35_TEXT = {**_4B, "architectures": ["Qwen3_5ForCausalLM"], "tie_word_embeddings": True}
QWEN35_MOE_TEXT = {**_35B, "architectures": ["Qwen3_5MoeForCausalLM"]}

HYBRID = [
    Supported(
        "Qwen3-Next-80B-A3B",
        QWEN3_NEXT,
        79.67,
        {
            "layer_types": ((LayerType.LINEAR,) * 3 + (LayerType.FULL,)) * 12,
            "delta_net.num_channels": 8192,
            "delta_net.value_size": 4096,
            "norm_offset": 1.0,
            "qk_norm": QKNorm.HEAD,
            "attention_output_gate": True,
            "rope.dim": 64,
            "moe.num_experts": 512,
            "moe.norm_topk_prob": True,
            "moe.shared_intermediate_size": 512,
            "moe.shared_expert_gate": True,
            "num_cached_layers": 12,
            # Three of four layers: 32 matrices of 128 x 128, and three inputs of 8192 channels.
            "state_bytes": 36 * 4 * (32 * 128 * 128 + 3 * 8192),
        },
    ),
    Supported(
        "Qwen3.5-0.8B",
        _seeing(_text(sizes(1024, 3584, 24, 8, 2, 248320, 262144), 16), is_tied=True),
        0.75,
        {"architecture": "Qwen3_5ForCausalLM", "tie_word_embeddings": True, "moe": None},
    ),
    Supported(
        "Qwen3.5-2B",
        _seeing(_text(sizes(2048, 6144, 24, 8, 2, 248320, 262144), 16), is_tied=True),
        1.88,
    ),
    Supported(
        "Qwen3.5-4B",
        _seeing(_4B, is_tied=True),
        4.21,
        {
            "layer_types": ((LayerType.LINEAR,) * 3 + (LayerType.FULL,)) * 8,
            "rope.theta": 1e7,
            "rope.dim": 64,
            "delta_net.linear_num_value_heads": 32,
        },
    ),
    Supported("Qwen3.5-4B, text alone", QWEN35_TEXT, 4.21, {"tie_word_embeddings": True}),
    Supported(
        "Qwen3.5-9B",
        _seeing(_text(sizes(4096, 12288, 32, 16, 4, 248320, 262144), 32)),
        8.95,
        {"tie_word_embeddings": False},
    ),
    Supported(
        "Qwen3.5-27B",
        _seeing(_text(sizes(5120, 17408, 64, 24, 4, 248320, 262144), 48)),
        26.90,
        {"delta_net.linear_num_value_heads": 48, "num_queries_per_kv": 6},
    ),
    Supported(
        "Qwen3.5-35B-A3B",
        _seeing(_35B),
        34.66,
        {
            "architecture": "Qwen3_5MoeForCausalLM",
            "moe.norm_topk_prob": True,
            "moe.num_experts_per_tok": 8,
            "moe.shared_expert_gate": True,
            "moe.sparse_layers": (True,) * 40,
        },
    ),
    Supported(
        "Qwen3.5-122B-A10B",
        _seeing(_moe_text(sizes(3072, 1, 48, 32, 2, 248320, 262144), 64, 1024, 256, 8)),
        122.11,
    ),
    Supported(
        "Qwen3.5-397B-A17B",
        _seeing(_moe_text(sizes(4096, 1, 60, 32, 2, 248320, 262144), 64, 1024, 512, 10)),
        396.35,
    ),
]
