"""GLM-4.7-Flash: the design of DeepSeek-V3."""

from collections.abc import Mapping
from typing import Any

from app.core.errors import UnsupportedError
from app.spec.adapter import ArchitectureAdapter
from app.spec.adapters.deepseek_v3 import read_sigmoid_experts
from app.spec.config_reader import ConfigReader
from app.spec.latent_config import (
    DEEPSEEK_IGNORED_KEYS,
    DEEPSEEK_NAMES,
    first_dense_layers,
    latent_bias,
    read_latent,
)


def _sparse_layers(config: ConfigReader) -> tuple[bool, ...]:
    """`mlp_layer_types` names them; without it all layers but the first."""
    by_count, kinds = first_dense_layers(config, 1), config.value("mlp_layer_types", None)
    if kinds is None:
        return by_count
    if not isinstance(kinds, list) or not set(kinds) <= {"dense", "sparse"}:
        raise UnsupportedError("mlp_layer_types must be a list of 'dense' and 'sparse'.")
    return tuple(kind == "sparse" for kind in kinds)


def _read_differences(config: ConfigReader) -> Mapping[str, Any]:
    moe = read_sigmoid_experts(config, _sparse_layers(config), num_groups=1, topk_groups=1)
    return {**read_latent(config), "moe": moe}


ADAPTER = ArchitectureAdapter(
    family="glm4_moe_lite",
    architectures=("Glm4MoeLiteForCausalLM",),
    model_types=("glm4_moe_lite",),
    read_attention_bias=latent_bias,
    read_differences=_read_differences,
    weight_names=DEEPSEEK_NAMES,
    head_dim_key="qk_rope_head_dim",
    default_rms_norm_eps=1e-5,
    fixed_values={
        "rope_interleave": True,
        "topk_method": "noaux_tc",
        "partial_rotary_factor": 1.0,
    },
    ignored_keys=DEEPSEEK_IGNORED_KEYS,
)
