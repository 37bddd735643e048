"""Qwen3-MoE: Qwen3 with experts in all layers, or in those that the configuration chooses."""

from collections.abc import Mapping
from typing import Any

from app.spec.adapter import ArchitectureAdapter, attention_bias_flag
from app.spec.config_reader import ConfigReader
from app.spec.model_spec import QKNorm
from app.spec.moe_config import (
    MOE_IGNORED_KEYS,
    QWEN_MOE_NAMES,
    read_softmax_experts,
    stepped_layers,
    switched_uniform_window,
)


def _read_differences(config: ConfigReader) -> Mapping[str, Any]:
    moe = read_softmax_experts(config, stepped_layers(config), norm_topk_prob=False)
    return {"qk_norm": QKNorm.HEAD, "moe": moe}


ADAPTER = ArchitectureAdapter(
    family="qwen3_moe",
    architectures=("Qwen3MoeForCausalLM",),
    model_types=("qwen3_moe",),
    read_attention_bias=attention_bias_flag,
    read_window=switched_uniform_window,
    read_differences=_read_differences,
    weight_names=QWEN_MOE_NAMES,
    default_rms_norm_eps=1e-6,
    ignored_keys=MOE_IGNORED_KEYS,
)
