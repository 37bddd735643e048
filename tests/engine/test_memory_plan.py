"""The memory plan: sums that can be checked by hand, and refusals with numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.core.errors import ResourceError, UsageError
from app.engine.memory_plan import (
    ExecutorCosts,
    available_memory_bytes,
    fit_table,
    kv_bytes_per_token,
    plan_memory,
    workspace_bytes,
)
from app.spec.model_spec import ModelSpec
from app.spec.registry import create_spec
from tests.spec.popular_hybrid import QWEN3_NEXT

GIB = 1 << 30
CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
    "rms_norm_eps": 1e-5,
    "rope_theta": 500000.0,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "bos_token_id": 128000,
    "eos_token_id": 128009,
}
COSTS = ExecutorCosts(weights_bytes=4 * GIB, kv_dtype="fp16")


@pytest.fixture
def spec() -> ModelSpec:
    """Llama 3 8B."""
    return create_spec(CONFIG)


def test_kv_bytes_of_llama_3_8b(spec: ModelSpec) -> None:
    assert kv_bytes_per_token(spec, "fp16") == 131072  # the well-known 128 KiB a token in 16 bits


def test_the_models_own_context_is_planned_when_it_fits(spec: ModelSpec) -> None:
    plan = plan_memory(spec, COSTS, 64 * GIB)
    assert plan.max_model_len == 8192
    assert (plan.weights_bytes, plan.kv_bytes_per_token) == (4 * GIB, 131072)


def test_less_memory_plans_what_fits_to_the_token(spec: ModelSpec) -> None:
    available = 4 * GIB + workspace_bytes(spec) + 1000 * 131072
    assert plan_memory(spec, COSTS, available).max_model_len == 1000
    assert plan_memory(spec, COSTS, available - 1).max_model_len == 999
    assert plan_memory(spec, COSTS, available, num_slots=4).max_model_len == 250


def test_sequences_share_a_pool_of_half_of_what_one_context_leaves(spec: ModelSpec) -> None:
    page_bytes, base = 256 * 131072, 4 * GIB + workspace_bytes(spec)

    def plan(num_free_pages: int, wanted_len: int | None = None) -> tuple[int, int, int]:
        available = base + num_free_pages * page_bytes
        found = plan_memory(spec, COSTS, available, wanted_len, num_slots=8, shares_pages=True)
        return found.max_model_len, found.num_slots, found.num_pages

    assert plan(20) == (5120, 8, 20)  # as long as for one sequence
    assert plan(32) == (8192, 8, 32)
    assert plan(52) == (8192, 8, 42)
    assert plan(1000) == (8192, 8, 8 * 32)  # what eight sequences can use
    assert plan(10, wanted_len=1000) == (1000, 8, 4 + 3)


def test_fewer_states_rather_than_a_shorter_context() -> None:
    spec = create_spec(QWEN3_NEXT)
    per_token = kv_bytes_per_token(spec, "fp16")
    base = GIB + workspace_bytes(spec)
    costs = ExecutorCosts(GIB, "fp16")

    def plan(available: int, wanted_len: int | None) -> tuple[int, int, int]:
        found = plan_memory(spec, costs, available, wanted_len, num_slots=8, shares_pages=True)
        assert found.state_bytes == found.num_slots * spec.state_bytes
        return found.max_model_len, found.num_slots, found.num_pages

    room = base + 40 * 256 * per_token
    assert plan(room + spec.state_bytes, 40 * 256) == (40 * 256, 1, 40)
    assert plan(room + 3 * spec.state_bytes, 40 * 256) == (40 * 256, 3, 40)
    # Unasked, a twentieth of the context makes room for two more.
    length, num_slots, _ = plan(base + 60 * spec.state_bytes, None)
    assert (length, num_slots) == (57 * spec.state_bytes // per_token, 3)


def test_a_wanted_context_is_taken_or_refused_but_never_changed(spec: ModelSpec) -> None:
    available = 4 * GIB + workspace_bytes(spec) + 1000 * 131072
    assert plan_memory(spec, COSTS, available, wanted_len=1000).max_model_len == 1000
    with pytest.raises(ResourceError, match=r"4\.\d+ GiB .* 1,001 tokens, 4\.00 GiB .* free"):
        plan_memory(spec, COSTS, available, wanted_len=1001)


def test_a_model_without_room_for_any_context_is_refused(spec: ModelSpec) -> None:
    with pytest.raises(ResourceError, match=r"128 tokens.*only 4\.00 GiB are free"):
        plan_memory(spec, COSTS, 4 * GIB)


@pytest.mark.parametrize("wanted", [0, 1, 8193])
def test_a_context_that_the_model_cannot_have_is_refused(spec: ModelSpec, wanted: int) -> None:
    with pytest.raises(UsageError, match="2 to 8,192"):
        plan_memory(spec, COSTS, 64 * GIB, wanted_len=wanted)


def test_ropes_that_depend_on_the_length_stay_within_the_trained_one_unless_asked() -> None:
    factors = [1.0] * 64
    rope = {
        "rope_type": "longrope",
        "rope_theta": 10000.0,
        "short_factor": factors,
        "long_factor": factors,
        "original_max_position_embeddings": 4096,
    }
    config = {key: value for key, value in CONFIG.items() if key != "rope_theta"}
    longrope = create_spec({**config, "rope_parameters": rope})
    assert plan_memory(longrope, COSTS, 64 * GIB).max_model_len == 4096
    assert plan_memory(longrope, COSTS, 64 * GIB, wanted_len=8192).max_model_len == 8192
    dynamic_rope = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}
    dynamic = create_spec({**config, "rope_parameters": dynamic_rope})
    assert plan_memory(dynamic, COSTS, 64 * GIB).max_model_len == 8192
    assert plan_memory(dynamic, COSTS, 64 * GIB, wanted_len=16384).max_model_len == 16384


def test_the_fit_table_of_llama_3_8b(spec: ModelSpec) -> None:
    rows = {row.grid: row for row in fit_table(spec, 6 * GIB, exact_weights_bytes=5 * GIB)}
    assert list(rows) == ["exact", "w4", "w3", "w8"]
    # 8.03 billion weights; a scale of 16 bits per 128 of them; embedding and lm_head at 8 bits.
    num_weights, num_norms, num_vocabulary = 8_029_995_008, 65 * 4096, 2 * 128256 * 4096
    for grid, bits in {"w4": 4, "w3": 3, "w8": 8}.items():
        codes = (num_weights - num_vocabulary) * bits // 8 + num_vocabulary
        assert rows[grid].weights_bytes == codes + num_weights // 64 + 4 * num_norms
    assert rows["exact"].weights_bytes == 5 * GIB
    assert rows["w3"].max_context == 8192
    assert rows["w8"].max_context == 0
    for row in rows.values():
        assert row.kv_bytes_per_token == 131072
        used = row.weights_bytes + workspace_bytes(spec) + row.max_context * 131072
        assert row.max_context in (0, 8192) or 6 * GIB - 131072 < used <= 6 * GIB


def test_without_a_source_there_is_no_exact_row(spec: ModelSpec) -> None:
    assert [row.grid for row in fit_table(spec, 6 * GIB)] == ["w4", "w3", "w8"]


def test_the_reference_executor_keeps_its_cache_in_float32(spec: ModelSpec) -> None:
    assert fit_table(spec, 6 * GIB, device="reference")[0].kv_bytes_per_token == 2 * 131072


def test_tied_embeddings_are_stored_once(spec: ModelSpec) -> None:
    tied = fit_table(replace(spec, tie_word_embeddings=True), 6 * GIB)[0].weights_bytes
    head = 128256 * 4096 + 128256 * 32 * 2
    assert fit_table(spec, 6 * GIB)[0].weights_bytes - tied == head


def test_available_memory_is_less_than_the_machines() -> None:
    import psutil

    assert 0 <= available_memory_bytes() < psutil.virtual_memory().total


QWEN3_30B_A3B: dict[str, Any] = {
    **CONFIG,
    "architectures": ["Qwen3MoeForCausalLM"],
    "model_type": "qwen3_moe",
    "hidden_size": 2048,
    "intermediate_size": 6144,
    "moe_intermediate_size": 768,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "norm_topk_prob": True,
    "num_hidden_layers": 48,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "vocab_size": 151936,
    "max_position_embeddings": 40960,
}


def test_the_fit_table_of_a_mixture_of_experts_counts_all_of_them() -> None:
    """Qwen3-30B-A3B: 30.5 billion weights, of which 128 routers of 2048 stay in float32."""
    spec = create_spec(QWEN3_30B_A3B)
    routers, vocabulary, norms = 48 * 128 * 2048, 2 * 151936 * 2048, 48 * (2 * 2048 + 256) + 2048
    quantized = 30_532_122_624 - routers - norms
    for row in fit_table(spec, 64 * GIB):
        bits = {"w4": 4, "w3": 3, "w8": 8}[row.grid]
        codes = (quantized - vocabulary) * bits // 8 + vocabulary
        assert row.weights_bytes == codes + quantized // 64 + 4 * (routers + norms)
        assert row.kv_bytes_per_token == 2 * 48 * 4 * 128 * 2


def test_the_workspace_of_experts_grows_with_how_many_run() -> None:
    few, many = (
        workspace_bytes(create_spec({**QWEN3_30B_A3B, "num_experts_per_tok": count}))
        for count in (1, 8)
    )
    # 128 rows of an odd number of cache lines, float32, int8 and four sums a step of 32 columns:
    # two inputs, gate, up and the input of down; and the outputs, in float32 alone.
    columns = 128 * (2 * 2112 + 3 * 832)
    per_expert = columns * 5 + columns // 32 * 16 + 4 * 128 * 2112
    assert many - few == 7 * per_expert
