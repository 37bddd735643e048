"""Qwen2-MoE (Qwen1.5-MoE, Qwen2-57B-A14B): Qwen2 with experts and a gated shared expert."""

from collections.abc import Mapping
from typing import Any

from app.core.errors import UnsupportedError
from app.spec.adapter import ArchitectureAdapter, Window, read_layer_types
from app.spec.config_reader import ConfigReader
from app.spec.layer_type import LayerType
from app.spec.model_spec import AttentionBias
from app.spec.moe_config import (
    MOE_IGNORED_KEYS,
    QWEN_MOE_NAMES,
    read_softmax_experts,
    stepped_layers,
)


def _read_attention_bias(config: ConfigReader) -> AttentionBias:
    has_bias = config.flag("qkv_bias", True)
    return AttentionBias(q=has_bias, k=has_bias, v=has_bias)


def _read_window(config: ConfigReader, num_layers: int) -> Window:
    is_used, window = config.flag("use_sliding_window", False), config.integer("sliding_window", 0)
    explicit = config.value("layer_types", None)
    config.integer("max_window_layers", None)
    if not is_used or not window:
        return None, (LayerType.FULL,) * num_layers
    if explicit is None:
        # Releases of transformers disagree about which layers max_window_layers means.
        raise UnsupportedError("use_sliding_window is true, but layer_types does not say where.")
    return window, read_layer_types(explicit)


def _read_differences(config: ConfigReader) -> Mapping[str, Any]:
    moe = read_softmax_experts(
        config, stepped_layers(config), norm_topk_prob=False, has_shared=True
    )
    return {"moe": moe}


ADAPTER = ArchitectureAdapter(
    family="qwen2_moe",
    architectures=("Qwen2MoeForCausalLM",),
    model_types=("qwen2_moe",),
    read_attention_bias=_read_attention_bias,
    read_window=_read_window,
    read_differences=_read_differences,
    weight_names=QWEN_MOE_NAMES,
    default_rms_norm_eps=1e-6,
    ignored_keys=MOE_IGNORED_KEYS,
)
