"""gpt-oss: attention sinks, alternating windows, biases, and experts with a clamped SwiGLU."""

from collections.abc import Mapping
from typing import Any

from app.core.errors import UnsupportedError
from app.spec.adapter import ArchitectureAdapter, Window, read_layer_types
from app.spec.config_reader import ConfigReader
from app.spec.layer_type import LayerType
from app.spec.model_spec import AttentionBias
from app.spec.moe_config import MOE_IGNORED_KEYS, every_layer, read_num_experts
from app.spec.moe_spec import ExpertAct, MoeSpec, RouterScoring
from app.spec.weight_names import WeightNames


def _read_attention_bias(config: ConfigReader) -> AttentionBias:
    has_bias = config.flag("attention_bias", True)
    return AttentionBias(q=has_bias, k=has_bias, v=has_bias, o=has_bias)


def _read_window(config: ConfigReader, num_layers: int) -> Window:
    window, explicit = config.integer("sliding_window", 128), config.value("layer_types", None)
    if explicit is not None:
        return window, read_layer_types(explicit)
    kinds = (LayerType.SLIDING, LayerType.FULL)
    return window, tuple(kinds[index % 2] for index in range(num_layers))


def _read_differences(config: ConfigReader) -> Mapping[str, Any]:
    if config.table("rope_parameters") is None and config.table("rope_scaling") is None:
        raise UnsupportedError("The configuration has neither rope_parameters nor rope_scaling.")
    moe = MoeSpec(
        num_experts=read_num_experts(config),
        num_experts_per_tok=_read_experts_per_tok(config),
        moe_intermediate_size=config.integer("intermediate_size"),
        sparse_layers=every_layer(config),
        scoring=RouterScoring.SOFTMAX_TOPK,
        router_bias=True,
        expert_act=ExpertAct.CLAMPED_SWIGLU,
        expert_bias=True,
        swiglu_limit=config.number("swiglu_limit", 7.0),
        swiglu_alpha=config.number("swiglu_alpha", 1.702),
    )
    return {"moe": moe, "attention_sinks": True}


def _read_experts_per_tok(config: ConfigReader) -> int:
    """OpenAI's own configuration says it twice."""
    count = config.integer("num_experts_per_tok")
    if config.integer("experts_per_token", count) != count:
        raise UnsupportedError("num_experts_per_tok and experts_per_token differ.")
    return int(count)


ADAPTER = ArchitectureAdapter(
    family="gpt_oss",
    architectures=("GptOssForCausalLM",),
    model_types=("gpt_oss",),
    read_attention_bias=_read_attention_bias,
    read_window=_read_window,
    read_differences=_read_differences,
    weight_names=WeightNames(
        fused={"mlp.experts.*.gate_up_proj": ("mlp.experts.*.gate_proj", "mlp.experts.*.up_proj")},
        alternating_rows=True,
        transposed_experts=True,
    ),
    default_rope_theta=150_000.0,
    default_rms_norm_eps=1e-5,
    default_head_dim=64,
    ignored_keys=(*MOE_IGNORED_KEYS, "initial_context_length"),  # what yarn's original length says
)
