"""Qwen3.5: three gated delta nets to one layer of gated attention, and a dense MLP."""

from app.spec.adapter import ArchitectureAdapter, attention_bias_flag
from app.spec.delta_net_config import (
    GATED_QUERIES,
    HYBRID_FIXED_VALUES,
    HYBRID_IGNORED_KEYS,
    hybrid_layers,
    read_hybrid,
)
from app.spec.weight_names import WeightNames

ADAPTER = ArchitectureAdapter(
    family="qwen3_5",
    architectures=("Qwen3_5ForCausalLM",),
    model_types=("qwen3_5_text",),
    read_attention_bias=attention_bias_flag,
    read_window=hybrid_layers,
    read_differences=read_hybrid,
    weight_names=WeightNames(fused=GATED_QUERIES, grouped=tuple(GATED_QUERIES)),
    partial_rotary=True,
    default_partial_rotary_factor=0.25,
    default_rms_norm_eps=1e-6,
    default_head_dim=256,
    fixed_values=HYBRID_FIXED_VALUES,
    ignored_keys=HYBRID_IGNORED_KEYS,
    ignored_rope_keys=("mrope_section", "mrope_interleaved"),  # equal axes in text
)
