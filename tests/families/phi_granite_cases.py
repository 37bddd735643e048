"""Phi-3, Granite 3, Ministral 8B, Ministral 3."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.family_models import Config, FamilyCase, GgufLayout, Tensors

_LONGROPE = {
    "rope_type": "longrope",
    "rope_theta": 1000.0,
    "short_factor": [1.0, 1.1, 1.2, 1.3, 1.4, 1.5],
    "long_factor": [1.5, 2.0, 3.0, 4.0, 6.0, 8.0],
    "partial_rotary_factor": 0.75,
}
_YARN = {
    "rope_type": "yarn",
    "rope_theta": 1000.0,
    "factor": 4.0,
    "original_max_position_embeddings": 16,
    "mscale": 1.0,
    "mscale_all_dim": 1.0,
    "llama_4_scaling_beta": 0.3,
}


def _phi3(config: Config) -> dict[str, Any]:
    rope = config["rope_parameters"]
    head_dim = config["hidden_size"] // config["num_attention_heads"]
    return {
        "rope.dimension_count": int(head_dim * rope.get("partial_rotary_factor", 1.0)),
        "rope.scaling.original_context_length": config["original_max_position_embeddings"],
        "attention.sliding_window": config.get("sliding_window") or 0,
    }


def _phi3_long(config: Config) -> dict[str, Any]:
    original = config["original_max_position_embeddings"]
    scale = config["max_position_embeddings"] / original
    factor = float(np.sqrt(1 + np.log(scale) / np.log(original)))
    return _phi3(config) | {"rope.scaling.attn_factor": factor}


def _long_tables(config: Config) -> Tensors:
    rope = config["rope_parameters"]
    return {
        f"rope_factors_{length}.weight": np.array(rope[f"{length}_factor"], np.float32)
        for length in ("long", "short")
    }


def _granite(config: Config) -> dict[str, Any]:
    return {
        "attention.scale": config["attention_multiplier"],
        "embedding_scale": config["embedding_multiplier"],
        "residual_scale": config["residual_multiplier"],
        "logit_scale": config["logits_scaling"],
    }


def _ministral3(config: Config) -> dict[str, Any]:
    rope = config["rope_parameters"]
    return {
        "rope.scaling.type": "yarn",
        "rope.scaling.factor": rope["factor"],
        "rope.scaling.original_context_length": rope["original_max_position_embeddings"],
        "rope.scaling.yarn_log_multiplier": rope["mscale_all_dim"],
        "attention.temperature_scale": rope["llama_4_scaling_beta"],
    }


CASES = [
    FamilyCase("phi3", "phi3", {"sliding_window": 9}, GgufLayout("phi3", _phi3)),
    FamilyCase(
        "phi4 mini",
        "phi3",
        {
            "hidden_size": 64,
            "rope_parameters": _LONGROPE,
            "original_max_position_embeddings": 32,
            "tie_word_embeddings": True,
        },
        GgufLayout("phi3", _phi3_long, extra=_long_tables),
    ),
    FamilyCase(
        "granite",
        "granite",
        {
            "attention_multiplier": 0.05,
            "embedding_multiplier": 3.0,
            "residual_multiplier": 0.22,
            "logits_scaling": 8.0,
        },
        GgufLayout("granite", _granite, permuted=True),
    ),
    FamilyCase(
        "ministral",
        "ministral",
        {
            "head_dim": 16,
            "sliding_window": 9,
            "layer_types": ["full_attention", "sliding_attention", "sliding_attention"],
        },
    ),
    FamilyCase(
        "ministral3",
        "ministral3",
        {"head_dim": 16, "rope_parameters": _YARN, "sliding_window": None},
        GgufLayout("mistral3", _ministral3, permuted=True),
    ),
]
