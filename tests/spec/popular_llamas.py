"""Llama and what is called Llama, Mistral, Qwen2 and Qwen3."""

from __future__ import annotations

from typing import Any

from app.spec.layer_type import LayerType
from app.spec.model_spec import AttentionBias, QKNorm
from app.spec.rope import RopeType
from tests.spec.popular_models import LLAMA3, Config, Supported, named, sizes

_QKV_BIAS = AttentionBias(q=True, k=True, v=True)


def llama(size: Config, eps: float = 1e-5, **others: Any) -> Config:
    return named(
        "LlamaForCausalLM",
        "llama",
        rms_norm_eps=eps,
        hidden_act="silu",
        attention_bias=False,
        mlp_bias=False,
        pretraining_tp=1,
        **size,
        **others,
    )


def mistral(size: Config, **others: Any) -> Config:
    return named(
        "MistralForCausalLM", "mistral", rms_norm_eps=1e-5, hidden_act="silu", **size, **others
    )


def qwen2(size: Config, **others: Any) -> Config:
    return named(
        "Qwen2ForCausalLM",
        "qwen2",
        rms_norm_eps=1e-6,
        rope_theta=1e6,
        hidden_act="silu",
        use_sliding_window=False,
        sliding_window=size["max_position_embeddings"],
        max_window_layers=size["num_hidden_layers"],
        **size,
        **others,
    )


def qwen3(size: Config, **others: Any) -> Config:
    return named(
        "Qwen3ForCausalLM",
        "qwen3",
        rms_norm_eps=1e-6,
        rope_theta=1e6,
        rope_scaling=None,
        hidden_act="silu",
        head_dim=128,
        attention_bias=False,
        use_sliding_window=False,
        sliding_window=None,
        max_window_layers=size["num_hidden_layers"],
        **size,
        **others,
    )


LLAMAS = [
    Supported(
        "Llama-2-7b",
        llama(sizes(4096, 11008, 32, 32, 32, 32000, 4096), tie_word_embeddings=False),
        6.74,
        {"rope.theta": 10000.0, "num_queries_per_kv": 1, "head_dim": 128},
    ),
    Supported(
        "Llama-3.1-8B",
        llama(
            sizes(4096, 14336, 32, 32, 8, 128256, 131072),
            rope_theta=500000.0,
            rope_scaling=LLAMA3,
            eos_token_id=[128001, 128008, 128009],
        ),
        8.03,
        {
            "rope.rope_type": RopeType.LLAMA3,
            "rope.factor": 8.0,
            "rope.original_max_position_embeddings": 8192,
            "eos_token_ids": (128001, 128008, 128009),
        },
    ),
    Supported(
        "Llama-3.2-1B",
        llama(
            sizes(2048, 8192, 16, 32, 8, 128256, 131072),
            head_dim=64,
            rope_theta=500000.0,
            rope_scaling={**LLAMA3, "factor": 32.0},
            tie_word_embeddings=True,
        ),
        1.24,
        {"rope.factor": 32.0, "tie_word_embeddings": True},
    ),
    Supported(
        "Llama-3.2-3B",
        llama(
            sizes(3072, 8192, 28, 24, 8, 128256, 131072),
            head_dim=128,
            rope_theta=500000.0,
            rope_scaling={**LLAMA3, "factor": 32.0},
            tie_word_embeddings=True,
        ),
        3.21,
        {"num_queries_per_kv": 3},
    ),
    Supported(
        "TinyLlama-1.1B",
        llama(sizes(2048, 5632, 22, 32, 4, 32000, 2048), rope_theta=10000.0, rope_scaling=None),
        1.10,
    ),
    Supported(
        "Yi-1.5-9B",
        llama(sizes(4096, 11008, 48, 32, 4, 64000, 4096), 1e-6, rope_theta=5000000.0),
        8.83,
        {"rope.theta": 5e6},
    ),
    Supported(
        "deepseek-llm-7b",
        llama(sizes(4096, 11008, 30, 32, 32, 102400, 4096), 1e-6, rope_theta=10000.0),
        6.91,
    ),
    Supported(
        "Falcon3-3B",
        llama(
            sizes(3072, 9216, 22, 12, 4, 131072, 32768),
            1e-6,
            activation="swiglu",
            head_dim=256,
            rope_theta=1000042,
        ),
        3.23,
        {"head_dim": 256, "rope.theta": 1000042.0},
    ),
    Supported(
        "SmolLM2-1.7B",
        llama(
            sizes(2048, 8192, 24, 32, 32, 49152, 8192),
            rope_theta=130000,
            is_llama_config=True,
            rope_interleaved=False,
            tie_word_embeddings=True,
        ),
        1.71,
    ),
    Supported(
        "Mistral-7B-v0.1",
        mistral(
            sizes(4096, 14336, 32, 32, 8, 32000, 32768), rope_theta=10000.0, sliding_window=4096
        ),
        7.24,
        {"sliding_window": 4096, "layer_types": (LayerType.SLIDING,) * 32},
    ),
    Supported(
        "Mistral-7B-v0.3",
        mistral(sizes(4096, 14336, 32, 32, 8, 32768, 32768), rope_theta=1e6, sliding_window=None),
        7.25,
        {"layer_types": (LayerType.FULL,) * 32},
    ),
    Supported(
        "Mistral-Nemo-2407",
        mistral(
            sizes(5120, 14336, 40, 32, 8, 131072, 131072),
            head_dim=128,
            rope_theta=1e6,
            sliding_window=None,
        ),
        12.25,
        {"head_dim": 128, "q_size": 4096},
    ),
    Supported(
        "Ministral-8B-2410",
        mistral(
            sizes(4096, 12288, 36, 32, 8, 131072, 32768),
            head_dim=128,
            rope_theta=1e8,
            sliding_window=32768,
        ),
        8.02,
        {"sliding_window": 32768},
    ),
]
QWENS = [
    Supported(
        "Qwen2.5-0.5B",
        qwen2(sizes(896, 4864, 24, 14, 2, 151936, 32768), tie_word_embeddings=True),
        0.49,
        {"attention_bias": _QKV_BIAS, "head_dim": 64, "num_queries_per_kv": 7},
    ),
    Supported(
        "Qwen2.5-3B",
        qwen2(sizes(2048, 11008, 36, 16, 2, 151936, 32768), tie_word_embeddings=True),
        3.09,
        {"tie_word_embeddings": True},
    ),
    Supported(
        "Qwen2.5-7B",
        qwen2(sizes(3584, 18944, 28, 28, 4, 152064, 131072), tie_word_embeddings=False),
        7.62,
        {"tie_word_embeddings": False, "sliding_window": None},
    ),
    Supported(
        "Qwen3-0.6B",
        qwen3(sizes(1024, 3072, 28, 16, 8, 151936, 40960), tie_word_embeddings=True),
        0.60,
        {"qk_norm": QKNorm.HEAD, "q_size": 2048, "attention_bias": AttentionBias()},
    ),
    Supported(
        "Qwen3-8B",
        qwen3(sizes(4096, 12288, 36, 32, 8, 151936, 40960), tie_word_embeddings=False),
        8.19,
    ),
    Supported(
        "Qwen3-32B",
        qwen3(sizes(5120, 25600, 64, 64, 8, 151936, 40960), tie_word_embeddings=False),
        32.76,
        {"q_size": 8192},
    ),
]
