"""Forty popular models by their config.json: what each computes, or why it is refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import pytest

from app.core.errors import UnsupportedError
from app.spec.layer_type import LayerType
from app.spec.model_spec import AttentionBias, MlpType, NormPlacement, NormType, QKNorm
from app.spec.registry import create_spec
from app.spec.rope import RopeType
from app.spec.weights import num_parameters
from tests.spec import popular_configs as popular
from tests.spec.popular_configs import LLAMA3, Config, llama, mistral, qwen2, qwen3, sizes

_QKV_BIAS = AttentionBias(q=True, k=True, v=True)
_ALL_BIASES = AttentionBias(q=True, k=True, v=True, o=True)
_ROTATED_BY_FOURS = (True, True, True, False)


@dataclass(frozen=True)
class Supported:
    """`billions` of weights as published; `facts` are attributes of the ModelSpec, dotted."""

    name: str
    config: Config
    billions: float
    facts: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


_LLAMAS = [
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
_QWENS = [
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
_OTHERS = [
    Supported(
        "SmolLM3-3B",
        popular.SMOLLM3,
        3.08,
        {"rope_layers": _ROTATED_BY_FOURS * 9, "tie_word_embeddings": True},
    ),
    Supported(
        "OLMo-2-1124-7B",
        popular.OLMO2_7B,
        7.30,
        {"norm_placement": NormPlacement.POST, "qk_norm": QKNorm.PROJECTION},
    ),
    Supported(
        "Olmo-3-7B",
        popular.OLMO3_7B,
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
        popular.INTERNLM2_5_7B,
        7.74,
        {"rope.rope_type": RopeType.DYNAMIC, "rope.original_max_position_embeddings": 32768},
    ),
    Supported(
        "internlm3-8b",
        popular.INTERNLM3_8B,
        8.80,
        {"rope.rope_type": RopeType.DYNAMIC, "rope.factor": 6.0, "num_queries_per_kv": 16},
    ),
    Supported(
        "GLM-4-9B-0414",
        popular.glm("Glm4ForCausalLM", "glm4", 32768, 1e-5),
        9.40,
        {
            "norm_placement": NormPlacement.SANDWICH,
            "rope.dim": 64,
            "attention_bias": _QKV_BIAS,
        },
    ),
    Supported(
        "glm-4-9b-chat-hf",
        popular.glm("GlmForCausalLM", "glm", 131072, 1.5625e-07),
        9.40,
        {"norm_placement": NormPlacement.PRE, "rope.dim": 64, "rms_norm_eps": 1.5625e-07},
    ),
    Supported(
        "Seed-OSS-36B",
        popular.SEED_OSS_36B,
        36.15,
        {"attention_bias": _QKV_BIAS, "mlp_bias": False, "q_size": 10240},
    ),
    Supported(
        "starcoder2-3b",
        popular.starcoder2(sizes(3072, 12288, 30, 24, 2, 49152, 16384), 999999.4420358813),
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
        popular.starcoder2(sizes(4608, 18432, 32, 36, 4, 49152, 16384), 1000000),
        7.17,
    ),
    Supported(
        "EXAONE-4.0-1.2B",
        popular.EXAONE4_1_2B,
        1.28,
        {"qk_norm": QKNorm.HEAD, "norm_placement": NormPlacement.POST, "rope_layers": ()},
    ),
    Supported(
        "EXAONE-4.0-32B",
        popular.EXAONE4_32B,
        32.0,
        {"rope_layers": _ROTATED_BY_FOURS * 16, "rope.factor": 16.0, "sliding_window": 4096},
    ),
    Supported("ERNIE-4.5-0.3B", popular.ERNIE4_5_0_3B, 0.36, {"q_size": 2048}),
]
SUPPORTED = [*_LLAMAS, *_QWENS, *_OTHERS]

# Classes that no adapter claims: their names alone decide.
REFUSED_CLASSES = {
    "c4ai-command-r-v01": "CohereForCausalLM",
    "aya-expanse-8b": "CohereForCausalLM",
    "c4ai-command-r7b": "Cohere2ForCausalLM",
    "gemma-3n-E2B": "Gemma3nForConditionalGeneration",
    "Falcon-H1-1.5B": "FalconH1ForCausalLM",
    "falcon-7b": "FalconForCausalLM",
    "mamba-2.8b": "MambaForCausalLM",
    "Llama-4-Scout": "Llama4ForConditionalGeneration",
    "Phi-3.5-MoE": "PhiMoEForCausalLM",
    "granite-4.0-h-tiny": "GraniteMoeHybridForCausalLM",
    "Hunyuan-7B": "HunYuanDenseV1ForCausalLM",
    "AFM-4.5B": "ArceeForCausalLM",
    "Minitron-8B": "NemotronForCausalLM",
    "gpt2": "GPT2LMHeadModel",
    "chatglm3-6b": "ChatGLMModel",
    "MiniCPM3-4B": "MiniCPM3ForCausalLM",
    "Kimi-Linear-48B-A3B": "KimiLinearForCausalLM",
}
# Of classes that are known: (configuration, the word that says why).
REFUSED_VALUES = {
    "Qwen2.5-7B-Instruct-1M": (
        qwen2(
            sizes(3584, 18944, 28, 28, 4, 152064, 1010000),
            dual_chunk_attention_config={"chunk_size": 262144, "local_size": 8192},
        ),
        "dual_chunk_attention_config",
    ),
    "a Llama that is interleaved": (
        llama(sizes(4096, 14336, 32, 32, 8, 128256, 8192), rope_interleaved=True),
        "rope_interleaved",
    ),
    "another activation": (
        llama(sizes(3072, 9216, 22, 12, 4, 131072, 32768), activation="relu2"),
        "activation 'relu2'",
    ),
    "StarCoder2 with RMS norms": (
        {
            **popular.starcoder2(sizes(3072, 12288, 30, 24, 2, 49152, 16384), 1e6),
            "norm_type": "rms",
        },
        "norm_type 'rms'",
    ),
    "SmolLM3 whose window is off": (
        {**popular.SMOLLM3, "layer_types": ["sliding_attention"] * 36, "sliding_window": 512},
        "use_sliding_window is false",
    ),
    "EXAONE 4 by a pattern alone": (
        {**popular.EXAONE4_32B, "layer_types": None},
        "sliding_window_pattern 'LLLG'",
    ),
    "OLMo 3 without a theta": (
        {**popular.OLMO3_7B, "rope_theta": None},
        "neither rope_parameters nor rope_theta",
    ),
}


@pytest.mark.parametrize("model", SUPPORTED, ids=str)
def test_what_a_popular_model_computes(model: Supported) -> None:
    spec = create_spec(model.config)
    found = {name: attrgetter(name)(spec) for name in model.facts}
    assert found == model.facts
    assert num_parameters(spec) / 1e9 == pytest.approx(model.billions, abs=0.006)


@pytest.mark.parametrize("name", REFUSED_CLASSES)
def test_which_popular_models_are_refused_by_their_class(name: str) -> None:
    class_name = REFUSED_CLASSES[name]
    with pytest.raises(UnsupportedError, match=f"{class_name} is not supported"):
        create_spec({"architectures": [class_name]})


@pytest.mark.parametrize("name", REFUSED_VALUES)
def test_what_is_refused_of_a_class_that_is_known(name: str) -> None:
    config, reason = REFUSED_VALUES[name]
    with pytest.raises(UnsupportedError, match=reason):
        create_spec(config)
