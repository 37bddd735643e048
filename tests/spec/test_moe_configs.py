"""Configurations with experts: which layers are sparse, both spellings, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.errors import UnsupportedError
from app.spec.layer_type import LayerType
from app.spec.moe_spec import ExpertAct, RouterScoring
from app.spec.registry import create_spec
from app.spec.weights import has_bias, is_router, layer_linears, num_parameters
from tests.moe_folders import GPT_OSS, MIXTRAL, QWEN2_MOE, QWEN3_MOE


def sparse_layers(**changes: Any) -> str:
    spec = create_spec({**QWEN3_MOE, "num_hidden_layers": 6, **changes})
    return "".join("x" if spec.is_sparse(index) else "." for index in range(6))


def test_which_layers_are_sparse() -> None:
    """transformers: (index + 1) % decoder_sparse_step == 0, and not in mlp_only_layers."""
    assert sparse_layers() == "xxxxxx"
    assert sparse_layers(decoder_sparse_step=2) == ".x.x.x"
    assert sparse_layers(decoder_sparse_step=3) == "..x..x"
    assert sparse_layers(mlp_only_layers=[0, 5]) == ".xxxx."
    assert sparse_layers(decoder_sparse_step=2, mlp_only_layers=[1]) == "...x.x"


def test_a_dense_layer_of_a_sparse_model_has_the_dense_size() -> None:
    spec = create_spec({**QWEN3_MOE, "mlp_only_layers": [0]})
    assert layer_linears(spec, 0)["mlp.up_proj"] == (192, 128)
    sparse = layer_linears(spec, 1)
    assert sparse["mlp.experts.3.up_proj"] == (64, 128)
    assert not any(name.startswith("mlp.up") for name in sparse)


def test_both_words_for_the_number_of_experts() -> None:
    """transformers 5 writes num_local_experts where Qwen published num_experts."""
    renamed = {**QWEN3_MOE, "num_local_experts": QWEN3_MOE["num_experts"]}
    assert create_spec(renamed) == create_spec(QWEN3_MOE)
    del renamed["num_experts"]
    assert create_spec(renamed) == create_spec(QWEN3_MOE)


def test_how_families_route() -> None:
    specs = [create_spec(config) for config in (MIXTRAL, QWEN2_MOE, QWEN3_MOE, GPT_OSS)]
    mixtral, qwen2, qwen3, oss = (spec.moe for spec in specs if spec.moe is not None)
    assert mixtral.scoring is oss.scoring is RouterScoring.SOFTMAX_TOPK
    assert (qwen2.scoring, qwen2.norm_topk_prob) == (RouterScoring.SOFTMAX, False)
    assert (qwen3.scoring, qwen3.norm_topk_prob) == (RouterScoring.SOFTMAX, True)
    assert (qwen2.shared_intermediate_size, qwen2.shared_expert_gate) == (192, True)
    assert (oss.expert_act, oss.swiglu_limit, oss.swiglu_alpha) == (
        ExpertAct.CLAMPED_SWIGLU,
        7.0,
        1.702,
    )
    spec = specs[3]
    biased = [name for name in layer_linears(spec, 0) if has_bias(spec, name)]
    assert biased == list(layer_linears(spec, 0))  # all of them, router and experts too
    assert spec.layer_types == (LayerType.SLIDING, LayerType.FULL)
    routers = [name for name in layer_linears(specs[1], 0) if is_router(name)]
    assert routers == ["mlp.router", "mlp.shared_expert_gate"]


def test_parameters_of_published_sizes() -> None:
    """46.7 billion, as Mistral AI says of Mixtral 8x7B."""
    config = {
        **MIXTRAL,
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": None,
        "vocab_size": 32000,
        "num_local_experts": 8,
    }
    assert num_parameters(create_spec(config)) == 46_702_792_704


_REFUSALS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "two numbers of experts": (QWEN3_MOE, {"num_local_experts": 5}, "num_local_experts 5"),
    "no number of experts": (MIXTRAL, {"num_local_experts": None}, "neither num_local_experts"),
    "more chosen than there are": (MIXTRAL, {"num_experts_per_tok": 9}, r"num_experts_per_tok \(9"),
    "a step of nothing": (QWEN3_MOE, {"decoder_sparse_step": 0}, "decoder_sparse_step"),
    "windows in unknown layers": (
        QWEN2_MOE,
        {"use_sliding_window": True, "sliding_window": 64},
        "layer_types does not say where",
    ),
    "two numbers of chosen": (GPT_OSS, {"experts_per_token": 4}, "experts_per_token differ"),
    "no rope scaling": (
        GPT_OSS,
        {"rope_parameters": None, "rope_theta": 150000.0},
        "neither rope_parameters nor rope_scaling",
    ),
    "a key of another design": (QWEN3_MOE, {"moe_capacity_factor": 2.0}, "moe_capacity_factor"),
}


@pytest.mark.parametrize("case", _REFUSALS)
def test_what_cannot_be_is_refused(case: str) -> None:
    config, changes, message = _REFUSALS[case]
    with pytest.raises(UnsupportedError, match=message):
        create_spec({**config, **changes})
