"""config.json of popular models: every key that says what they compute, re-typed from the Hub."""

from __future__ import annotations

from typing import Any

Config = dict[str, Any]

LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
SLIDING, FULL = "sliding_attention", "full_attention"


def sizes(
    hidden: int, inner: int, layers: int, heads: int, kv_heads: int, vocab: int, positions: int
) -> Config:
    """What every configuration says, in the order in which papers tell it."""
    return {
        "hidden_size": hidden,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "vocab_size": vocab,
        "max_position_embeddings": positions,
    }


def named(architecture: str, model_type: str, **others: Any) -> Config:
    """A configuration of this class."""
    return {"architectures": [architecture], "model_type": model_type, **others}


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


def glm(architecture: str, model_type: str, positions: int, eps: float) -> Config:
    return named(
        architecture,
        model_type,
        attention_bias=True,
        head_dim=128,
        hidden_act="silu",
        partial_rotary_factor=0.5,
        rms_norm_eps=eps,
        rope_theta=10000.0,
        tie_word_embeddings=False,
        eos_token_id=[151329, 151336, 151338],
        **sizes(4096, 13696, 40, 32, 2, 151552, positions),
    )


def starcoder2(size: Config, theta: float) -> Config:
    return named(
        "Starcoder2ForCausalLM",
        "starcoder2",
        embedding_dropout=0.1,
        residual_dropout=0.1,
        hidden_act="gelu_pytorch_tanh",
        mlp_type="default",
        norm_type="layer_norm",
        norm_epsilon=1e-5,
        rope_theta=theta,
        sliding_window=4096,
        use_bias=True,
        **size,
    )


def every_fourth(first: Any, fourth: Any, layers: int) -> list[Any]:
    """first, first, first, fourth, first ..."""
    return [first if (index + 1) % 4 else fourth for index in range(layers)]


SMOLLM3 = named(
    "SmolLM3ForCausalLM",
    "smollm3",
    attention_bias=False,
    mlp_bias=False,
    hidden_act="silu",
    rms_norm_eps=1e-6,
    rope_theta=5000000.0,
    rope_scaling=None,
    no_rope_layer_interval=4,
    no_rope_layers=every_fourth(1, 0, 36),
    layer_types=[FULL] * 36,
    max_window_layers=28,
    use_sliding_window=False,
    sliding_window=None,
    pretraining_tp=2,
    **sizes(2048, 11008, 36, 16, 4, 128256, 65536),
)
OLMO2_7B = named(
    "Olmo2ForCausalLM",
    "olmo2",
    attention_bias=False,
    hidden_act="silu",
    rms_norm_eps=1e-6,
    rope_theta=500000,
    rope_scaling=None,
    tie_word_embeddings=False,
    **sizes(4096, 11008, 32, 32, 32, 100352, 4096),
)
OLMO3_7B = named(
    "Olmo3ForCausalLM",
    "olmo3",
    attention_bias=False,
    hidden_act="silu",
    rms_norm_eps=1e-6,
    rope_theta=500000,
    rope_scaling={
        "rope_type": "yarn",
        "factor": 8.0,
        "attention_factor": 1.2079441541679836,
        "beta_fast": 32,
        "beta_slow": 1,
        "original_max_position_embeddings": 8192,
    },
    layer_types=every_fourth(SLIDING, FULL, 32),
    sliding_window=4096,
    tie_word_embeddings=False,
    **sizes(4096, 11008, 32, 32, 32, 100278, 65536),
)
INTERNLM2_5_7B = named(
    "InternLM2ForCausalLM",
    "internlm2",
    attn_implementation="eager",
    bias=False,
    hidden_act="silu",
    rms_norm_eps=1e-5,
    rope_scaling={"type": "dynamic", "factor": 2.0},
    rope_theta=1000000,
    tie_word_embeddings=False,
    pretraining_tp=1,
    **sizes(4096, 14336, 32, 32, 8, 92544, 32768),
)
INTERNLM3_8B = named(
    "InternLM3ForCausalLM",
    "internlm3",
    bias=False,
    qkv_bias=False,
    head_dim=128,
    hidden_act="silu",
    rms_norm_eps=1e-5,
    rope_scaling={"factor": 6.0, "rope_type": "dynamic"},
    rope_theta=50000000,
    tie_word_embeddings=False,
    **sizes(4096, 10240, 48, 32, 2, 128512, 32768),
)
SEED_OSS_36B = named(
    "SeedOssForCausalLM",
    "seed_oss",
    attention_bias=True,
    attention_out_bias=False,
    mlp_bias=False,
    head_dim=128,
    hidden_act="silu",
    residual_dropout=0.1,
    pretraining_tp=1,
    rms_norm_eps=1e-6,
    rope_scaling={"rope_type": "default"},
    rope_theta=10000000.0,
    tie_word_embeddings=False,
    **sizes(5120, 27648, 64, 80, 8, 155136, 524288),
)
EXAONE4_1_2B = named(
    "Exaone4ForCausalLM",
    "exaone4",
    head_dim=64,
    hidden_act="silu",
    rms_norm_eps=1e-5,
    rope_scaling={**LLAMA3, "factor": 16.0},
    rope_theta=1000000.0,
    layer_types=[FULL] * 30,
    sliding_window=None,
    sliding_window_pattern=None,
    tie_word_embeddings=True,
    **sizes(2048, 4096, 30, 32, 8, 102400, 65536),
)
EXAONE4_32B = named(
    "Exaone4ForCausalLM",
    "exaone4",
    head_dim=128,
    hidden_act="silu",
    rms_norm_eps=1e-5,
    rope_scaling={**LLAMA3, "factor": 16.0},
    rope_theta=1000000.0,
    layer_types=every_fourth(SLIDING, FULL, 64),
    sliding_window=4096,
    sliding_window_pattern="LLLG",
    tie_word_embeddings=False,
    **sizes(5120, 27392, 64, 40, 8, 102400, 131072),
)
ERNIE4_5_0_3B = named(
    "Ernie4_5ForCausalLM",
    "ernie4_5",
    head_dim=128,
    hidden_act="silu",
    rms_norm_eps=1e-5,
    rope_theta=500000,
    rope_scaling=None,
    tie_word_embeddings=True,
    use_bias=False,
    **sizes(1024, 3072, 18, 16, 2, 103424, 131072),
)
