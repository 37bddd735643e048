"""Phi-3 and 4, Gemma 1 to 3, Granite 3."""

from __future__ import annotations

from typing import Any

from app.spec.layer_type import LayerType
from app.spec.model_spec import NormPlacement, QKNorm
from app.spec.rope import RopeType
from tests.spec.popular_models import Config, Supported, named, sizes

_ALTERNATING = (LayerType.SLIDING, LayerType.FULL)


def phi3(size: Config, **others: Any) -> Config:
    return named(
        "Phi3ForCausalLM",
        "phi3",
        rms_norm_eps=1e-5,
        hidden_act="silu",
        attention_bias=False,
        embd_pdrop=0.0,
        resid_pdrop=0.0,
        **size,
        **others,
    )


def longrope(rotary_dim: int) -> Config:
    """The tables are shortened to plain numbers: their length is what is checked."""
    half = rotary_dim // 2
    return {"type": "longrope", "short_factor": [1.0] * half, "long_factor": [2.0] * half}


def gemma(kind: str, model_type: str, size: Config, **others: Any) -> Config:
    return named(
        f"{kind}ForCausalLM",
        model_type,
        head_dim=256,
        rms_norm_eps=1e-6,
        attention_bias=False,
        **size,
        **others,
    )


GEMMA2 = {
    "hidden_activation": "gelu_pytorch_tanh",
    "hidden_act": "gelu_pytorch_tanh",
    "rope_theta": 10000.0,
    "sliding_window": 4096,
    "query_pre_attn_scalar": 256,
    "attn_logit_softcapping": 50.0,
    "final_logit_softcapping": 30.0,
    "cache_implementation": "hybrid",
}
GEMMA3 = {
    "hidden_activation": "gelu_pytorch_tanh",
    "query_pre_attn_scalar": 256,
    "rope_theta": 1000000,
    "rope_local_base_freq": 10000,
    "attn_logit_softcapping": None,
    "final_logit_softcapping": None,
    "cache_implementation": "hybrid",
}


def granite(size: Config, **others: Any) -> Config:
    return named(
        "GraniteForCausalLM",
        "granite",
        rms_norm_eps=1e-5,
        hidden_act="silu",
        attention_bias=False,
        mlp_bias=False,
        embedding_multiplier=12.0,
        residual_multiplier=0.22,
        rope_theta=1e7,
        rope_scaling=None,
        tie_word_embeddings=True,
        **size,
        **others,
    )


PHIS = [
    Supported(
        "Phi-3-mini-4k",
        phi3(
            sizes(3072, 8192, 32, 32, 32, 32064, 4096),
            original_max_position_embeddings=4096,
            rope_theta=10000.0,
            rope_scaling=None,
            sliding_window=2047,
            tie_word_embeddings=False,
        ),
        3.82,
        {"sliding_window": 2047, "layer_types": (LayerType.SLIDING,) * 32},
    ),
    Supported(
        "Phi-3.5-mini",
        phi3(
            sizes(3072, 8192, 32, 32, 32, 32064, 131072),
            original_max_position_embeddings=4096,
            rope_theta=10000.0,
            rope_scaling=longrope(96),
            sliding_window=262144,
            tie_word_embeddings=False,
        ),
        3.82,
        {
            "rope.rope_type": RopeType.LONGROPE,
            "rope.factor": 32.0,
            "rope.original_max_position_embeddings": 4096,
        },
    ),
    Supported(
        "phi-4",
        phi3(
            sizes(5120, 17920, 40, 40, 10, 100352, 16384),
            original_max_position_embeddings=16384,
            rope_theta=250000,
            rope_scaling=None,
            sliding_window=None,
            tie_word_embeddings=False,
        ),
        14.66,
        {"rope.rope_type": RopeType.DEFAULT, "rope.theta": 250000.0, "sliding_window": None},
    ),
    Supported(
        "Phi-4-mini",
        phi3(
            sizes(3072, 8192, 32, 24, 8, 200064, 131072),
            full_attn_mod=1,
            interpolate_factor=1,
            lm_head_bias=False,
            mlp_bias=False,
            original_max_position_embeddings=4096,
            partial_rotary_factor=0.75,
            rope_theta=10000.0,
            rope_scaling=longrope(96),
            sliding_window=262144,
            tie_word_embeddings=True,
        ),
        3.84,
        {"rope.dim": 96, "head_dim": 128, "tie_word_embeddings": True},
    ),
]
GEMMAS = [
    Supported(
        "gemma-2b",
        gemma(
            "Gemma",
            "gemma",
            sizes(2048, 16384, 18, 8, 1, 256000, 8192),
            hidden_act="gelu",
            hidden_activation=None,
            rope_theta=10000.0,
            rope_scaling=None,
            torch_dtype="bfloat16",
        ),
        2.51,
        {
            "norm_offset": 1.0,
            "embedding_multiplier": 45.25,
            "hidden_act": "gelu_pytorch_tanh",
            "tie_word_embeddings": True,
        },
    ),
    Supported(
        "gemma-2-2b",
        gemma("Gemma2", "gemma2", sizes(2304, 9216, 26, 8, 4, 256000, 8192), **GEMMA2),
        2.61,
        {
            "norm_placement": NormPlacement.SANDWICH,
            "attn_logit_softcapping": 50.0,
            "final_logit_softcapping": 30.0,
            "attention_multiplier": 0.0625,
            "layer_types": _ALTERNATING * 13,
        },
    ),
    Supported(
        "gemma-2-9b",
        gemma("Gemma2", "gemma2", sizes(3584, 14336, 42, 16, 8, 256000, 8192), **GEMMA2),
        9.24,
    ),
    Supported(
        "gemma-3-1b",
        gemma(
            "Gemma3",
            "gemma3_text",
            sizes(1152, 6912, 26, 4, 1, 262144, 32768),
            rope_scaling=None,
            sliding_window=512,
            sliding_window_pattern=6,
            **GEMMA3,
        ),
        1.00,
        {
            "qk_norm": QKNorm.HEAD,
            "rope.theta": 1e6,
            "sliding_rope.theta": 1e4,
            "sliding_window": 512,
            "attn_logit_softcapping": None,
        },
    ),
]
GRANITES = [
    Supported(
        "granite-3.3-2b",
        granite(
            sizes(2048, 8192, 40, 32, 8, 49159, 131072),
            attention_multiplier=0.015625,
            logits_scaling=8.0,
        ),
        2.53,
        {
            "attention_multiplier": 0.015625,
            "embedding_multiplier": 12.0,
            "residual_multiplier": 0.22,
            "logits_multiplier": 0.125,
        },
    ),
    Supported(
        "granite-3.1-8b",
        granite(
            sizes(4096, 12800, 40, 32, 8, 49155, 131072),
            attention_multiplier=0.0078125,
            logits_scaling=16.0,
        ),
        8.17,
        {"logits_multiplier": 0.0625},
    ),
]
