"""DeepSeek-V3's design (Moonlight): latent attention, experts chosen by sigmoid within groups."""

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


def _read_differences(config: ConfigReader) -> Mapping[str, Any]:
    moe = MoeSpec(
        num_experts=read_num_routed(config),
        num_experts_per_tok=config.integer("num_experts_per_tok", 8),
        moe_intermediate_size=config.integer("moe_intermediate_size"),
        sparse_layers=first_dense_layers(config),
        scoring=RouterScoring.SIGMOID,
        norm_topk_prob=config.flag("norm_topk_prob", True),
        routed_scaling_factor=config.number("routed_scaling_factor", 2.5),
        num_groups=config.integer("n_group", 8),
        topk_groups=config.integer("topk_group", 4),
        group_scoring=GroupScoring.TOP2_SUM,
        score_correction_bias=True,
        shared_intermediate_size=shared_size(config),
    )
    return {**read_latent(config), "moe": moe}


ADAPTER = ArchitectureAdapter(
    family="deepseek_v3",
    architectures=("DeepseekV3ForCausalLM",),
    model_types=("deepseek_v3",),
    read_attention_bias=latent_bias,
    read_differences=_read_differences,
    weight_names=DEEPSEEK_NAMES,
    default_rms_norm_eps=1e-6,
    fixed_values={
        "rope_interleave": True,
        "scoring_func": "sigmoid",
        "topk_method": "noaux_tc",
        "moe_layer_freq": 1,
    },
    ignored_keys=DEEPSEEK_IGNORED_KEYS,
)
