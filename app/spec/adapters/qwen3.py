"""Qwen3 (dense): RMS norms over head_dim on q and k before the rotary embedding."""

from app.spec.adapter import ArchitectureAdapter, attention_bias_flag, switched_window
from app.spec.model_spec import QKNorm

ADAPTER = ArchitectureAdapter(
    family="qwen3",
    architectures=("Qwen3ForCausalLM",),
    model_types=("qwen3",),
    read_attention_bias=attention_bias_flag,
    read_window=switched_window,
    read_differences=lambda config: {"qk_norm": QKNorm.HEAD},
    default_rms_norm_eps=1e-6,
    default_head_dim=128,
)
