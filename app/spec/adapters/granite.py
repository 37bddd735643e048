"""Granite 3, dense: Llama with four multipliers, which every published configuration says."""

from typing import Any

from app.spec.adapter import ArchitectureAdapter, attention_bias_flag
from app.spec.config_reader import ConfigReader


def _read_multipliers(config: ConfigReader) -> dict[str, Any]:
    """All are required: what a stripped configuration does not say would be wrong as 1."""
    return {
        "attention_multiplier": config.number("attention_multiplier"),
        "embedding_multiplier": config.number("embedding_multiplier"),
        "residual_multiplier": config.number("residual_multiplier"),
        "logits_multiplier": 1 / config.positive("logits_scaling"),
    }


ADAPTER = ArchitectureAdapter(
    family="granite",
    architectures=("GraniteForCausalLM",),
    model_types=("granite",),
    read_attention_bias=attention_bias_flag,
    read_mlp_bias=lambda config: config.flag("mlp_bias", False),
    read_differences=_read_multipliers,
    default_rms_norm_eps=1e-6,
)
