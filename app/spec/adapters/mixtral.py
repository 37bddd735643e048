"""Mixtral: Mistral with experts, weighted by a softmax over the chosen ones."""

from collections.abc import Mapping
from typing import Any

from app.spec.adapter import ArchitectureAdapter, uniform_window
from app.spec.config_reader import ConfigReader
from app.spec.moe_config import MOE_IGNORED_KEYS, every_layer, read_num_experts
from app.spec.moe_spec import MoeSpec, RouterScoring
from app.spec.weight_names import WeightNames


def _read_differences(config: ConfigReader) -> Mapping[str, Any]:
    moe = MoeSpec(
        num_experts=read_num_experts(config),
        num_experts_per_tok=config.integer("num_experts_per_tok", 2),
        moe_intermediate_size=config.integer("intermediate_size"),
        sparse_layers=every_layer(config),
        # Over all experts and then renormalized, in transformers: the same.
        scoring=RouterScoring.SOFTMAX_TOPK,
    )
    return {"moe": moe}


ADAPTER = ArchitectureAdapter(
    family="mixtral",
    architectures=("MixtralForCausalLM",),
    model_types=("mixtral",),
    read_window=uniform_window,
    read_differences=_read_differences,
    weight_names=WeightNames(
        renamed={
            "mlp.router": "block_sparse_moe.gate",
            "mlp.experts.*.gate_proj": "block_sparse_moe.experts.*.w1",
            "mlp.experts.*.up_proj": "block_sparse_moe.experts.*.w3",
            "mlp.experts.*.down_proj": "block_sparse_moe.experts.*.w2",
        }
    ),
    default_rope_theta=1e6,
    default_rms_norm_eps=1e-5,
    ignored_keys=MOE_IGNORED_KEYS,
)
