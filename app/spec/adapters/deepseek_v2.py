"""DeepSeek-V2 and V2-Lite: latent attention, experts chosen by softmax within groups."""

from collections.abc import Mapping
from typing import Any

from app.core.errors import UnsupportedError
from app.spec.adapter import ArchitectureAdapter
from app.spec.config_reader import ConfigReader
from app.spec.latent_config import (
    DEEPSEEK_IGNORED_KEYS,
    DEEPSEEK_NAMES,
    first_dense_layers,
    latent_bias,
    read_latent,
    read_num_routed,
    shared_size,
)
from app.spec.moe_spec import MoeSpec


def _read_groups(config: ConfigReader) -> tuple[int, int]:
    """The greedy method chooses among all experts, whatever the configuration says of groups."""
    num_groups, topk_groups = config.integer("n_group", 1), config.integer("topk_group", 1)
    method = config.text("topk_method", "greedy")
    if method not in ("greedy", "group_limited_greedy"):
        raise UnsupportedError("topk_method {method!r} is not implemented.", method=method)
    return (num_groups, topk_groups) if method == "group_limited_greedy" else (1, 1)


def _read_differences(config: ConfigReader) -> Mapping[str, Any]:
    num_groups, topk_groups = _read_groups(config)
    moe = MoeSpec(
        num_experts=read_num_routed(config),
        num_experts_per_tok=config.integer("num_experts_per_tok"),
        moe_intermediate_size=config.integer("moe_intermediate_size"),
        sparse_layers=first_dense_layers(config),
        routed_scaling_factor=config.number("routed_scaling_factor", 1.0),
        num_groups=num_groups,
        topk_groups=topk_groups,
        shared_intermediate_size=shared_size(config),
    )
    return {**read_latent(config), "moe": moe}


ADAPTER = ArchitectureAdapter(
    family="deepseek_v2",
    architectures=("DeepseekV2ForCausalLM",),
    model_types=("deepseek_v2",),
    read_attention_bias=latent_bias,
    read_differences=_read_differences,
    weight_names=DEEPSEEK_NAMES,
    head_dim_key="qk_rope_head_dim",
    default_rms_norm_eps=1e-6,
    fixed_values={
        "scoring_func": "softmax",
        "norm_topk_prob": False,
        "moe_layer_freq": 1,
        "mlp_bias": False,
    },
    ignored_keys=DEEPSEEK_IGNORED_KEYS,
)
