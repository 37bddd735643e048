"""DeepSeek-V3's design (R1, Kimi-K2, Moonlight): latent attention, experts chosen by sigmoid."""

from collections.abc import Mapping
from typing import Any

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
from app.spec.moe_spec import GroupScoring, MoeSpec, RouterScoring


def read_sigmoid_experts(
    config: ConfigReader, sparse_layers: tuple[bool, ...], num_groups: int, topk_groups: int
) -> MoeSpec:
    """The experts in `sparse_layers`; the numbers of groups are those of a silent configuration."""
    return MoeSpec(
        num_experts=read_num_routed(config),
        num_experts_per_tok=config.integer("num_experts_per_tok"),
        moe_intermediate_size=config.integer("moe_intermediate_size"),
        sparse_layers=sparse_layers,
        scoring=RouterScoring.SIGMOID,
        norm_topk_prob=config.flag("norm_topk_prob", True),
        routed_scaling_factor=config.number("routed_scaling_factor"),
        num_groups=config.integer("n_group", num_groups),
        topk_groups=config.integer("topk_group", topk_groups),
        group_scoring=GroupScoring.TOP2_SUM,
        score_correction_bias=True,
        shared_intermediate_size=shared_size(config),
    )


def _read_differences(config: ConfigReader) -> Mapping[str, Any]:
    moe = read_sigmoid_experts(config, first_dense_layers(config, 3), num_groups=8, topk_groups=4)
    return {**read_latent(config), "moe": moe}


ADAPTER = ArchitectureAdapter(
    family="deepseek_v3",
    architectures=("DeepseekV3ForCausalLM",),
    model_types=("deepseek_v3", "kimi_k2"),
    read_attention_bias=latent_bias,
    read_differences=_read_differences,
    weight_names=DEEPSEEK_NAMES,
    head_dim_key="qk_rope_head_dim",
    default_rms_norm_eps=1e-6,
    fixed_values={
        "rope_interleave": True,
        "scoring_func": "sigmoid",
        "topk_method": "noaux_tc",
        "moe_layer_freq": 1,
    },
    ignored_keys=DEEPSEEK_IGNORED_KEYS,
)
