"""SmolLM3, OLMo 2 and 3, InternLM3, GLM-4, Seed-OSS, StarCoder2, EXAONE 4, ERNIE 4.5.

Windows, ropes beyond their trained length and layers without rope are crossed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.family_models import Config, FamilyCase, GgufLayout, Tensors

LAYERS = {"num_hidden_layers": 5}
NO_RMS_NORM = {"rms_norm_eps": None, "norm_epsilon": 1e-5}
DEFAULT_ROPE = {"rope_type": "default", "rope_theta": 1000.0}
YARN = {
    "rope_type": "yarn",
    "rope_theta": 1000.0,
    "factor": 8.0,
    "original_max_position_embeddings": 32,
}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 24,
}
_YARN_KEYS = {
    "rope.scaling.type": "yarn",
    "rope.scaling.factor": YARN["factor"],
    "rope.scaling.original_context_length": YARN["original_max_position_embeddings"],
}


def _half_rotary(config: Config) -> dict[str, Any]:
    return {"rope.dimension_count": config["head_dim"] // 2}


def _window(config: Config) -> dict[str, Any]:
    slides = [kind == "sliding_attention" for kind in config["layer_types"]]
    return {
        "attention.sliding_window": config["sliding_window"],
        "attention.sliding_window_pattern": slides,
    }


def _layer_norm(config: Config) -> dict[str, Any]:
    return {"attention.layer_norm_epsilon": config["norm_epsilon"]}


def _rope_freqs(config: Config) -> Tensors:
    """llama.cpp's result of the llama3 rule: a divisor for each frequency."""
    head_dim = config["hidden_size"] // config["num_attention_heads"]
    rope, divisors = config["rope_parameters"], []
    for index in range(0, head_dim, 2):
        wavelength = 2 * math.pi * rope["rope_theta"] ** (index / head_dim)
        turns = rope["original_max_position_embeddings"] / wavelength
        low, high = rope["low_freq_factor"], rope["high_freq_factor"]
        smooth = min(max((turns - low) / (high - low), 0), 1)
        divisors.append(1 / ((1 - smooth) / rope["factor"] + smooth))
    return {"rope_freqs.weight": np.array(divisors, np.float32)}


def _fuse_qkv(config: Config, tensors: Tensors) -> Tensors:
    """As files of the older glm-4-9b-chat have it: one tensor for q, k and v."""
    found: Tensors = {}
    for name, values in tensors.items():
        stem, _, part = name.partition(".self_attn.")
        if not part.startswith(("q_proj", "k_proj", "v_proj")):
            found[name] = values
        elif part.startswith("q_proj"):
            suffix = part.removeprefix("q_proj")
            parts = [tensors[f"{stem}.self_attn.{short}_proj{suffix}"] for short in "qkv"]
            ours = stem.replace("model.layers", "encoder.layers")
            found[f"{ours}.self_attention.query_key_value{suffix}"] = np.concatenate(parts)
    return found


SMOLLM3 = GgufLayout("smollm3", permuted=True)
OLMO2 = GgufLayout("olmo2")
GLM4 = GgufLayout("glm4", _half_rotary)
CHATGLM = GgufLayout("chatglm", _half_rotary)
SEED_OSS = GgufLayout("seed_oss")
STARCODER2 = GgufLayout("starcoder2", _layer_norm)
ERNIE = GgufLayout("ernie4_5")

_SMOLLM3_CASES = [
    FamilyCase("smollm3", "smollm3", {**LAYERS, "rope_parameters": DEFAULT_ROPE}, SMOLLM3),
    FamilyCase(
        "smollm3 listed nope, biases",
        "smollm3",
        {
            **LAYERS,
            "no_rope_layers": [0, 1, 1, 0, 1],
            "attention_bias": True,
            "mlp_bias": True,
            "tie_word_embeddings": False,
            "rope_parameters": LLAMA3,
        },
    ),
    FamilyCase(
        "smollm3 window, nope and yarn",
        "smollm3",
        {
            **LAYERS,
            "no_rope_layer_interval": 2,
            "use_sliding_window": True,
            "sliding_window": 9,
            "rope_parameters": YARN,
        },
    ),
]
_OLMO_CASES = [
    FamilyCase("olmo2", "olmo2", {"rope_parameters": DEFAULT_ROPE}, OLMO2),
    FamilyCase("olmo2 biases", "olmo2", {"attention_bias": True, "rope_parameters": YARN}),
    FamilyCase(
        "olmo3",
        "olmo3",
        {
            **LAYERS,
            "sliding_window": 9,
            "rope_parameters": {"full_attention": YARN, "sliding_attention": DEFAULT_ROPE},
        },
        GgufLayout("olmo2", lambda config: _window(config) | _YARN_KEYS),
    ),
    FamilyCase(
        "olmo3 listed layers",
        "olmo3",
        {
            "layer_types": ["full_attention", "sliding_attention", "full_attention"],
            "sliding_window": 5,
        },
        GgufLayout("olmo2", _window),
    ),
]
_GLM_CASES = [
    FamilyCase("glm", "glm", {"head_dim": 16}, CHATGLM),
    FamilyCase(
        "glm fused file",
        "glm",
        {"head_dim": 16, "num_attention_heads": 6},
        GgufLayout("chatglm", _half_rotary, transform=_fuse_qkv),
    ),
    FamilyCase("glm4", "glm4", {"head_dim": 16}, GLM4),
    FamilyCase("glm4 no biases", "glm4", {"head_dim": 24, "attention_bias": False}, GLM4),
    FamilyCase(
        "glm4 yarn",
        "glm4",
        {"head_dim": 16, "rope_parameters": {**YARN, "partial_rotary_factor": 0.5}},
    ),
]
_EXAONE_CASES = [
    FamilyCase(
        "exaone4 hybrid",
        "exaone4",
        {**LAYERS, "sliding_window": 9, "rope_parameters": LLAMA3},
        GgufLayout("exaone4", _window, extra=_rope_freqs),
    ),
    FamilyCase(
        "exaone4 full",
        "exaone4",
        {
            "sliding_window": None,
            "layer_types": ["full_attention"] * 3,
            "tie_word_embeddings": True,
        },
        GgufLayout("exaone4"),
    ),
]
_OTHER_CASES = [
    FamilyCase("seed oss", "seed_oss", {"head_dim": 16}, SEED_OSS),
    FamilyCase(
        "seed oss all biases",
        "seed_oss",
        {"head_dim": 16, "attention_out_bias": True, "mlp_bias": True, "rope_parameters": YARN},
    ),
    FamilyCase(
        "starcoder2", "starcoder2", {**NO_RMS_NORM, "rope_parameters": DEFAULT_ROPE}, STARCODER2
    ),
    FamilyCase(
        "starcoder2 window",
        "starcoder2",
        {**NO_RMS_NORM, "sliding_window": 9, "rope_parameters": YARN},
    ),
    FamilyCase(
        "starcoder2 no biases",
        "starcoder2",
        {**NO_RMS_NORM, "use_bias": False, "tie_word_embeddings": False},
    ),
    FamilyCase("ernie", "ernie4_5", {"head_dim": 16}, ERNIE),
    FamilyCase(
        "ernie biases",
        "ernie4_5",
        {"head_dim": 16, "use_bias": True, "tie_word_embeddings": False},
        ERNIE,
    ),
]
CASES = [*_SMOLLM3_CASES, *_OLMO_CASES, *_GLM_CASES, *_EXAONE_CASES, *_OTHER_CASES]
