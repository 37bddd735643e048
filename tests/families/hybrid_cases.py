"""Qwen3-Next and Qwen3.5: gated delta nets between layers of gated attention."""

from __future__ import annotations

from typing import Any

from tests.family_models import FamilyCase

DELTA_NET: dict[str, Any] = {
    "layer_types": ["linear_attention", "full_attention", "linear_attention"],
    "head_dim": 16,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 6,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 16,
}
EXPERTS = {
    "num_experts": 8,
    "num_experts_per_tok": 3,
    "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 64,
}


def center_norms(model: Any) -> None:
    """Norms of 1 + w scatter around 1 as others do.

    Around 2 they double every layer's input, and transformers' own two forms of the delta rule, by
    chunks and by tokens, then differ by up to 4e-4 in these models' logits.
    """
    for name, weight in model.state_dict().items():
        if name.endswith("norm.weight") and "linear_attn" not in name:
            weight -= 1


def _case(name: str, model_type: str, changes: dict[str, Any]) -> FamilyCase:
    return FamilyCase(name, model_type, changes, prepare=center_norms, cpu_refusal="delta_net")


CASES = [
    _case("qwen3 next", "qwen3_next", {**DELTA_NET, **EXPERTS}),
    _case("qwen3.5", "qwen3_5_text", DELTA_NET),
    _case("qwen3.5 moe", "qwen3_5_moe_text", {**DELTA_NET, **EXPERTS}),
]
