"""Qwen3-Next: three gated delta nets to one layer of gated attention, and experts in all layers."""

from collections.abc import Mapping
from typing import Any

from app.spec.adapter import ArchitectureAdapter, attention_bias_flag
from app.spec.config_reader import ConfigReader
from app.spec.delta_net_config import (
    GATED_QUERIES,
    HYBRID_FIXED_VALUES,
    HYBRID_IGNORED_KEYS,
    hybrid_layers,
    read_hybrid,
)
from app.spec.moe_config import (
    MOE_IGNORED_KEYS,
    QWEN_MOE_NAMES,
    read_softmax_experts,
    stepped_layers,
)
from app.spec.weight_names import WeightNames

# A key head's queries, key, values and gates, and the two numbers of its value heads, are together.
_FUSED = {
    "linear_attn.in_proj_qkvz": ("linear_attn.in_proj_qkv", "linear_attn.in_proj_z"),
    "linear_attn.in_proj_ba": ("linear_attn.in_proj_b", "linear_attn.in_proj_a"),
    **GATED_QUERIES,
}


def _read_differences(config: ConfigReader) -> Mapping[str, Any]:
    moe = read_softmax_experts(config, stepped_layers(config), norm_topk_prob=True, has_shared=True)
    return {"moe": moe, **read_hybrid(config)}


ADAPTER = ArchitectureAdapter(
    family="qwen3_next",
    architectures=("Qwen3NextForCausalLM",),
    model_types=("qwen3_next",),
    read_attention_bias=attention_bias_flag,
    read_window=hybrid_layers,
    read_differences=_read_differences,
    weight_names=WeightNames(
        renamed=QWEN_MOE_NAMES.renamed,
        fused={**QWEN_MOE_NAMES.fused, **_FUSED},
        grouped=tuple(_FUSED),
    ),
    partial_rotary=True,
    default_partial_rotary_factor=0.25,
    default_rms_norm_eps=1e-6,
    default_head_dim=256,
    fixed_values=HYBRID_FIXED_VALUES,
    ignored_keys=(*MOE_IGNORED_KEYS, *HYBRID_IGNORED_KEYS),
)
