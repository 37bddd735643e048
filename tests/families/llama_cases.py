"""Llama, Qwen2 and 3, Mistral."""

from __future__ import annotations

from typing import Any

from tests.family_models import Config, FamilyCase, GgufLayout

LLAMA = GgufLayout("llama", permuted=True)


def _window(config: Config) -> dict[str, Any]:
    return {"attention.sliding_window": config["sliding_window"]}


def _axes(config: Config) -> dict[str, Any]:
    return {"rope.dimension_sections": [2, 2, 2, 0]}


CASES = [
    FamilyCase("llama", "llama", {"attention_bias": True, "mlp_bias": True}, LLAMA),
    FamilyCase(
        "llama linear rope",
        "llama",
        {
            "rope_parameters": {"rope_type": "linear", "rope_theta": 1000.0, "factor": 4.0},
            "tie_word_embeddings": True,
        },
        GgufLayout(
            "llama",
            lambda config: {"rope.scaling.type": "linear", "rope.scaling.factor": 4.0},
            permuted=True,
        ),
    ),
    FamilyCase("qwen2", "qwen2", gguf=GgufLayout("qwen2")),
    FamilyCase("qwen3", "qwen3", {"head_dim": 32}, GgufLayout("qwen3")),
    # In text, the three axes of a position are equal: files of the language model that also sees.
    FamilyCase("qwen2 vl file", "qwen2", gguf=GgufLayout("qwen2vl", _axes)),
    FamilyCase("qwen3 vl file", "qwen3", {"head_dim": 16}, GgufLayout("qwen3vl", _axes)),
    FamilyCase(
        "mistral",
        "mistral",
        {"sliding_window": 9, "head_dim": 16},
        GgufLayout("llama", _window, permuted=True),
    ),
    FamilyCase("mistral nemo", "mistral", {"sliding_window": None, "head_dim": 20}, LLAMA),
]
