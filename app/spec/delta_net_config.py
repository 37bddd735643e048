"""What configurations with gated delta nets between layers of attention have in common (Qwen)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from app.core.errors import UnsupportedError
from app.spec.adapter import Window, read_layer_types
from app.spec.config_reader import ConfigReader
from app.spec.delta_net_spec import DeltaNetSpec
from app.spec.layer_type import LayerType
from app.spec.model_spec import QKNorm

# A head's queries stand above the gate of its output.
GATED_QUERIES = MappingProxyType(
    {"self_attn.q_proj": ("self_attn.q_proj", "self_attn.output_gate")}
)
# What predicts further tokens at once, and hints about precision, are no part of the decoder.
HYBRID_IGNORED_KEYS = (
    "mamba_ssm_dtype",
    "mtp_num_hidden_layers",
    "mtp_use_dedicated_embeddings",
    "num_nextn_predict_layers",
)
# The one thing that transformers computes, whatever these keys say.
HYBRID_FIXED_VALUES: Mapping[str, Any] = MappingProxyType(
    {"attn_output_gate": True, "output_gate_type": "swish"}
)


def read_hybrid(config: ConfigReader) -> dict[str, Any]:
    """The fields of ModelSpec that a decoder of both kinds of layers changes, by name."""
    if config.text("hidden_act", "silu") != "silu":  # it would be the convolution's, too
        raise UnsupportedError("hidden_act of a gated delta net must be 'silu'.")
    delta_net = DeltaNetSpec(
        linear_num_key_heads=config.integer("linear_num_key_heads", 16),
        linear_num_value_heads=config.integer("linear_num_value_heads", 32),
        linear_key_head_dim=config.integer("linear_key_head_dim", 128),
        linear_value_head_dim=config.integer("linear_value_head_dim", 128),
        linear_conv_kernel_dim=config.integer("linear_conv_kernel_dim", 4),
    )
    return {
        "delta_net": delta_net,
        "qk_norm": QKNorm.HEAD,
        "norm_offset": 1.0,
        "attention_output_gate": True,
    }


def hybrid_layers(config: ConfigReader, num_layers: int) -> Window:
    """`layer_types`, or attention in the last of every `full_attention_interval` layers."""
    interval = config.integer("full_attention_interval", 4)
    explicit = config.value("layer_types", None)
    if explicit is not None:
        return None, read_layer_types(explicit)
    if interval < 1:
        raise UnsupportedError(
            "full_attention_interval must be positive, not {interval}.", interval=interval
        )
    kinds = (
        LayerType.LINEAR if (index + 1) % interval else LayerType.FULL
        for index in range(num_layers)
    )
    return None, tuple(kinds)
