"""What GGUF metadata of latent attention means, and what is refused of it."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.errors import AppError, InvalidSourceError, UnsupportedError
from app.spec.gguf_config import config_from_gguf
from app.spec.mla_spec import MlaSpec
from app.spec.model_spec import ModelSpec
from app.spec.moe_spec import GroupScoring, RouterScoring
from app.spec.registry import create_spec

# DeepSeek-V2-Lite as its first files say it.
EARLY: dict[str, Any] = {
    "block_count": 27,
    "context_length": 163840,
    "embedding_length": 2048,
    "feed_forward_length": 10944,
    "attention.head_count": 16,
    "attention.head_count_kv": 16,
    "attention.key_length": 192,
    "attention.value_length": 128,
    "attention.kv_lora_rank": 512,
    "attention.layer_norm_rms_epsilon": 1e-6,
    "rope.dimension_count": 64,
    "rope.freq_base": 10000.0,
    "rope.scaling.type": "yarn",
    "rope.scaling.factor": 40.0,
    "rope.scaling.original_context_length": 4096,
    "rope.scaling.yarn_log_multiplier": 0.0707,
    "leading_dense_block_count": 1,
    "expert_count": 64,
    "expert_used_count": 6,
    "expert_shared_count": 2,
    "expert_feed_forward_length": 1408,
    "expert_weights_scale": 1.0,
    "vocab_size": 102400,
}
# As files have been written since April 2025, of V3's design.
V3: dict[str, Any] = {
    **EARLY,
    "attention.head_count_kv": 1,
    "attention.key_length": 576,
    "attention.value_length": 512,
    "attention.key_length_mla": 192,
    "attention.value_length_mla": 128,
    "attention.q_lora_rank": 1536,
    "rope.scaling.yarn_log_multiplier": 0.1,
    "expert_gating_func": 2,
    "expert_weights_norm": True,
    "expert_group_count": 8,
    "expert_group_used_count": 4,
}


def spec_of(metadata: dict[str, Any], *more_tensors: str) -> ModelSpec:
    """Keys of value None are left out."""
    keys = {f"deepseek2.{key}": value for key, value in metadata.items() if value is not None}
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (102400, 2048)}
    shapes |= {f"blk.{index}.attn_norm.weight": (2048,) for index in range(27)}
    shapes |= dict.fromkeys((*more_tensors, "output.weight"), (64,))
    return create_spec(
        config_from_gguf({"general.architecture": "deepseek2", **keys}, shapes, {}, file="x.gguf")
    )


def test_deepseek_v2_lite_of_the_first_files() -> None:
    spec = spec_of(EARLY)
    assert spec.family == "deepseek_v2"
    assert spec.mla == MlaSpec(512, 128, 64, 128)
    assert spec.attention_multiplier == pytest.approx(0.11472138679292611)  # as of its folder
    assert spec.rope.cos_sin_factor == 1
    assert spec.moe
    assert (spec.moe.num_groups, spec.moe.scoring) == (1, RouterScoring.SOFTMAX)
    assert spec.moe.shared_intermediate_size == 2816
    assert spec.moe.sparse_layers == (False, *(True,) * 26)


def test_groups_of_deepseek_v2_go_by_their_best_expert() -> None:
    spec = spec_of({**EARLY, "expert_group_count": 8, "expert_group_used_count": 3})
    assert spec.moe
    assert (spec.moe.num_groups, spec.moe.topk_groups) == (8, 3)
    assert spec.moe.group_scoring is GroupScoring.MAX


def test_deepseek_v3_of_todays_files() -> None:
    spec = spec_of(V3)
    assert spec.family == "deepseek_v3"
    assert spec.mla == MlaSpec(512, 128, 64, 128, q_lora_rank=1536)
    assert (spec.num_key_value_heads, spec.head_dim) == (16, 192)
    assert spec.attention_multiplier == pytest.approx(0.1352337788608801)  # mscale_all_dim 1
    assert spec.moe
    assert spec.moe.norm_topk_prob
    assert (spec.moe.num_groups, spec.moe.topk_groups) == (8, 4)
    assert spec.moe.group_scoring is GroupScoring.TOP2_SUM


def test_a_corrected_choice_tells_the_sigmoid_where_the_file_does_not() -> None:
    silent = {**V3, "expert_gating_func": None}
    assert spec_of(silent, "blk.1.exp_probs_b.bias").family == "deepseek_v3"


def test_the_decoder_ends_before_layers_that_predict_further_tokens() -> None:
    assert spec_of({**V3, "nextn_predict_layers": 1}).num_hidden_layers == 26


_REFUSALS: dict[str, tuple[dict[str, Any], type[AppError], str]] = {
    "no experts": ({"expert_count": None}, UnsupportedError, "expert_count: a model without"),
    "another gate": ({"expert_gating_func": 4}, UnsupportedError, "expert_gating_func: 4"),
    "normalized softmax": (
        {"expert_gating_func": 1},
        UnsupportedError,
        "norm_topk_prob True is not implemented",
    ),
    "an indexer": ({"attention.indexer.top_k": 2048}, UnsupportedError, "attention.indexer.top_k"),
    "queries that grow": (
        {"attention.temperature_scale": 0.1},
        UnsupportedError,
        "attention.temperature_scale",
    ),
    "heads of nothing": ({"attention.key_length_mla": 64}, UnsupportedError, "qk_nope_head_dim"),
    "no latent size": ({"attention.kv_lora_rank": None}, InvalidSourceError, "kv_lora_rank"),
    "only predicting layers": ({"nextn_predict_layers": 27}, UnsupportedError, "num_hidden_layers"),
}


@pytest.mark.parametrize("case", _REFUSALS)
def test_what_cannot_be_is_refused(case: str) -> None:
    changes, kind, message = _REFUSALS[case]
    with pytest.raises(kind, match=message):
        spec_of({**V3, **changes})
