"""Qwen3.5-MoE: Qwen3.5 with experts in every layer, and one that every token shares."""

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
from app.spec.moe_config import MOE_IGNORED_KEYS, QWEN_MOE_NAMES, every_layer, read_softmax_experts
from app.spec.weight_names import WeightNames


def _read_differences(config: ConfigReader) -> Mapping[str, Any]:
    moe = read_softmax_experts(config, every_layer(config), norm_topk_prob=True, has_shared=True)
    return {"moe": moe, **read_hybrid(config)}


ADAPTER = ArchitectureAdapter(
    family="qwen3_5_moe",
    architectures=("Qwen3_5MoeForCausalLM",),
    model_types=("qwen3_5_moe_text",),
    read_attention_bias=attention_bias_flag,
    read_window=hybrid_layers,
    read_differences=_read_differences,
    weight_names=WeightNames(
        renamed=QWEN_MOE_NAMES.renamed,
        fused={**QWEN_MOE_NAMES.fused, **GATED_QUERIES},
        grouped=tuple(GATED_QUERIES),
    ),
    partial_rotary=True,
    default_partial_rotary_factor=0.25,
    inner_size_key="moe_intermediate_size",  # no layer is dense
    default_rms_norm_eps=1e-6,
    default_head_dim=256,
    fixed_values={**HYBRID_FIXED_VALUES, "norm_topk_prob": True},
    ignored_keys=(*MOE_IGNORED_KEYS, *HYBRID_IGNORED_KEYS, "intermediate_size"),
    ignored_rope_keys=("mrope_section", "mrope_interleaved"),  # equal axes in text
)
