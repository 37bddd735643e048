"""Popular models that are refused, and configurations of known classes that are."""

from __future__ import annotations

from tests.spec.popular_dense import EXAONE4_32B, OLMO3_7B, SMOLLM3, starcoder2
from tests.spec.popular_hybrid import QWEN3_NEXT, QWEN35_MOE_TEXT, QWEN35_TEXT
from tests.spec.popular_latent import GLM_47_FLASH
from tests.spec.popular_llamas import llama, qwen2
from tests.spec.popular_models import sizes
from tests.spec.popular_sparse import DEEPSEEK_V2_LITE, DEEPSEEK_V3

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
    "Kimi-VL-A3B": "KimiVLForConditionalGeneration",
    "Kimi-K2.5": "KimiK25ForConditionalGeneration",
    "DeepSeek-V3.2-Exp": "DeepseekV32ForCausalLM",
    "deepseek-moe-16b": "DeepseekForCausalLM",
    "GLM-5": "GlmMoeDsaForCausalLM",
    "GLM-4.5V": "Glm4vMoeForConditionalGeneration",
    "gemma-4-31B": "Gemma4ForConditionalGeneration",
    "MiniMax-M2": "MiniMaxM2ForCausalLM",
    "internlm-7b": "InternLMForCausalLM",
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
    "DeepSeek-V2 with normalized weights": (
        {**DEEPSEEK_V2_LITE, "norm_topk_prob": True},
        "norm_topk_prob True",
    ),
    "DeepSeek-V2 that chooses as V3 does": (
        {**DEEPSEEK_V2_LITE, "topk_method": "noaux_tc"},
        "topk_method 'noaux_tc'",
    ),
    "DeepSeek-V3 with a softmax": (
        {**DEEPSEEK_V3, "scoring_func": "softmax"},
        "scoring_func 'softmax'",
    ),
    "DeepSeek-V3 whose rotary halves stand apart": (
        {**DEEPSEEK_V3, "rope_interleave": False},
        "rope_interleave False",
    ),
    "DeepSeek-V3 with experts in every other layer": (
        {**DEEPSEEK_V3, "moe_layer_freq": 2},
        "moe_layer_freq 2",
    ),
    "DeepSeek-V3 with an indexer": (
        {**DEEPSEEK_V3, "index_topk": 2048},
        "index_topk",
    ),
    "GLM-4.7-Flash that rotates half": (
        {**GLM_47_FLASH, "partial_rotary_factor": 0.5},
        "partial_rotary_factor",
    ),
    "GLM-4.7-Flash with a kind of layer of its own": (
        {**GLM_47_FLASH, "mlp_layer_types": ["dense", "hashed"]},
        "mlp_layer_types",
    ),
    "Qwen3-Next whose queries have no gate": (
        {**QWEN3_NEXT, "attn_output_gate": False},
        "attn_output_gate False",
    ),
    "Qwen3-Next with value heads of no key head": (
        {**QWEN3_NEXT, "linear_num_value_heads": 24},
        "not a multiple of linear_num_key_heads",
    ),
    "Qwen3.5 with another activation": (
        {**QWEN35_TEXT, "hidden_act": "gelu"},
        "must be 'silu'",
    ),
    "Qwen3.5 with windows": (
        {**QWEN35_TEXT, "layer_types": ["linear_attention", "sliding_attention"] * 16},
        "sliding_window is not set",
    ),
    "Qwen3.5 whose experts' weights are not normalized": (
        {**QWEN35_MOE_TEXT, "norm_topk_prob": False},
        "norm_topk_prob False",
    ),
    "EXAONE 4 with linear layers": (
        {**EXAONE4_32B, "layer_types": ["linear_attention", *["full_attention"] * 63]},
        "asks for linear_attention",
    ),
    "OLMo 3 without a theta": (
        {**OLMO3_7B, "rope_theta": None},
        "neither rope_parameters nor rope_theta",
    ),
}
