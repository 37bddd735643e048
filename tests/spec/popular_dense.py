"""SmolLM3, OLMo, InternLM, GLM-4, Seed-OSS, StarCoder2, EXAONE 4, ERNIE 4.5."""

from __future__ import annotations

from app.spec.layer_type import LayerType
from app.spec.model_spec import AttentionBias, MlpType, NormPlacement, NormType, QKNorm
from app.spec.rope import RopeType
from tests.spec.popular_models import (
    FULL,
    LLAMA3,
    SLIDING,
    Config,
    Supported,
    every_fourth,
    named,
    sizes,
)

_QKV_BIAS = AttentionBias(q=True, k=True, v=True)
_ALL_BIASES = AttentionBias(q=True, k=True, v=True, o=True)
_ROTATED_BY_FOURS = (True, True, True, False)


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

DENSE = [
    Supported(
        "SmolLM3-3B",
        SMOLLM3,
        3.08,
        {"rope_layers": _ROTATED_BY_FOURS * 9, "tie_word_embeddings": True},
    ),
    Supported(
        "OLMo-2-1124-7B",
        OLMO2_7B,
        7.30,
        {"norm_placement": NormPlacement.POST, "qk_norm": QKNorm.PROJECTION},
    ),
    Supported(
        "Olmo-3-7B",
        OLMO3_7B,
        7.30,
        {
            "rope.rope_type": RopeType.YARN,
            "rope.cos_sin_factor": 1.2079441541679836,
            "sliding_rope.rope_type": RopeType.DEFAULT,
            "sliding_rope.theta": 500000.0,
            "layer_types": (*(LayerType.SLIDING,) * 3, LayerType.FULL) * 8,
        },
    ),
    Supported(
        "internlm2_5-7b",
        INTERNLM2_5_7B,
        7.74,
        {"rope.rope_type": RopeType.DYNAMIC, "rope.original_max_position_embeddings": 32768},
    ),
    Supported(
        "internlm3-8b",
        INTERNLM3_8B,
        8.80,
        {"rope.rope_type": RopeType.DYNAMIC, "rope.factor": 6.0, "num_queries_per_kv": 16},
    ),
    Supported(
        "GLM-4-9B-0414",
        glm("Glm4ForCausalLM", "glm4", 32768, 1e-5),
        9.40,
        {
            "norm_placement": NormPlacement.SANDWICH,
            "rope.dim": 64,
            "attention_bias": _QKV_BIAS,
        },
    ),
    Supported(
        "glm-4-9b-chat-hf",
        glm("GlmForCausalLM", "glm", 131072, 1.5625e-07),
        9.40,
        {"norm_placement": NormPlacement.PRE, "rope.dim": 64, "rms_norm_eps": 1.5625e-07},
    ),
    Supported(
        "Seed-OSS-36B",
        SEED_OSS_36B,
        36.15,
        {"attention_bias": _QKV_BIAS, "mlp_bias": False, "q_size": 10240},
    ),
    Supported(
        "starcoder2-3b",
        starcoder2(sizes(3072, 12288, 30, 24, 2, 49152, 16384), 999999.4420358813),
        3.03,
        {
            "norm_type": NormType.LAYER_NORM,
            "norm_bias": True,
            "mlp_type": MlpType.PLAIN,
            "attention_bias": _ALL_BIASES,
            "mlp_bias": True,
            "sliding_window": 4096,
            "rms_norm_eps": 1e-5,
            "tie_word_embeddings": True,
        },
    ),
    Supported(
        "starcoder2-7b",
        starcoder2(sizes(4608, 18432, 32, 36, 4, 49152, 16384), 1000000),
        7.17,
    ),
    Supported(
        "EXAONE-4.0-1.2B",
        EXAONE4_1_2B,
        1.28,
        {"qk_norm": QKNorm.HEAD, "norm_placement": NormPlacement.POST, "rope_layers": ()},
    ),
    Supported(
        "EXAONE-4.0-32B",
        EXAONE4_32B,
        32.0,
        {"rope_layers": _ROTATED_BY_FOURS * 16, "rope.factor": 16.0, "sliding_window": 4096},
    ),
    Supported("ERNIE-4.5-0.3B", ERNIE4_5_0_3B, 0.36, {"q_size": 2048}),
]
