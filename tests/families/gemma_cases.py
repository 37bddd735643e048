"""Gemma 1, 2 and 3 (text)."""

from __future__ import annotations

from typing import Any

from tests.family_models import Config, FamilyCase, GgufLayout


def _gemma2(config: Config) -> dict[str, Any]:
    return {
        "attention.sliding_window": config["sliding_window"],
        "attn_logit_softcapping": config["attn_logit_softcapping"],
        "final_logit_softcapping": config["final_logit_softcapping"],
    }


def _gemma3(config: Config) -> dict[str, Any]:
    ropes = config["rope_parameters"]
    return {
        "attention.sliding_window": config["sliding_window"],
        "rope.freq_base_swa": ropes["sliding_attention"]["rope_theta"],
        "rope.scaling.type": "linear",
        "rope.scaling.factor": ropes["full_attention"]["factor"],
    }


_CAPS = {"attn_logit_softcapping": 3.0, "final_logit_softcapping": 5.0}
_ROPES = {
    "full_attention": {"rope_type": "linear", "rope_theta": 3000.0, "factor": 8.0},
    "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
}

CASES = [
    FamilyCase("gemma", "gemma", {"head_dim": 16}, GgufLayout("gemma", norm_offset=1.0)),
    FamilyCase(
        "gemma2",
        "gemma2",
        {"head_dim": 16, "query_pre_attn_scalar": 16, "sliding_window": 9, **_CAPS},
        GgufLayout("gemma2", _gemma2, norm_offset=1.0),
    ),
    FamilyCase(
        "gemma3",
        "gemma3_text",
        {
            "num_hidden_layers": 7,
            "head_dim": 16,
            "query_pre_attn_scalar": 16,
            "sliding_window": 9,
            "rope_parameters": _ROPES,
        },
        GgufLayout("gemma3", _gemma3, norm_offset=1.0),
    ),
]
