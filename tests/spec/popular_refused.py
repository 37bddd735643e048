"""Popular models that are refused, and configurations of known classes that are."""

from __future__ import annotations

from tests.spec.popular_dense import EXAONE4_32B, OLMO3_7B, SMOLLM3, starcoder2
from tests.spec.popular_llamas import llama, qwen2
from tests.spec.popular_models import sizes

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
    "gemma-4-31B": "Gemma4ForConditionalGeneration",
    "MiniMax-M2": "MiniMaxM2ForCausalLM",
    "Qwen3-VL-30B-A3B": "Qwen3VLMoeForConditionalGeneration",
    "Apertus-8B": "ApertusForCausalLM",
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
            **starcoder2(sizes(3072, 12288, 30, 24, 2, 49152, 16384), 1e6),
            "norm_type": "rms",
        },
        "norm_type 'rms'",
    ),
    "SmolLM3 whose window is off": (
        {**SMOLLM3, "layer_types": ["sliding_attention"] * 36, "sliding_window": 512},
        "use_sliding_window is false",
    ),
    "EXAONE 4 by a pattern alone": (
        {**EXAONE4_32B, "layer_types": None},
        "sliding_window_pattern 'LLLG'",
    ),
    "OLMo 3 without a theta": (
        {**OLMO3_7B, "rope_theta": None},
        "neither rope_parameters nor rope_theta",
    ),
}
