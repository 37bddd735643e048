"""The plan of a 4 GB card against published sizes, and its refusals with numbers and remedies."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pytest

from app.core.cards import Card, CardMemory
from app.core.errors import MemoryShortageError, ResourceError, UsageError
from app.core.memory_shortage import RemedyKind
from app.engine.executors.cuda.launcher import Buffer, DeviceMemory
from app.engine.fit import ExactSizes, fit_machine
from app.engine.memory_plan import grid_scheme
from app.engine.vram_plan import (
    KvOptions,
    VramState,
    longest_context,
    measured_state,
    plan_vram,
    scheme_bytes,
    sum_weights,
)
from app.spec.model_spec import ModelSpec
from app.spec.registry import create_spec
from app.spec.weights import has_bias
from benchmarks.random_card_model import RandomModel, create_executor
from tests.kernels.host_launcher import HostLauncher

GIB, MIB = 1 << 30, 1 << 20
COMMON = {"rms_norm_eps": 1e-6, "hidden_act": "silu", "bos_token_id": 1, "eos_token_id": 2}
SIZES = (
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "vocab_size",
)


def config(model_type: str, architecture: str, sizes: tuple[int, ...], is_tied: bool) -> Any:
    return {
        **COMMON,
        **dict(zip(SIZES, sizes, strict=True)),
        "model_type": model_type,
        "architectures": [architecture],
        "tie_word_embeddings": is_tied,
        "max_position_embeddings": 32768,
        "rope_theta": 1e6,
    }


CONFIGS = {
    "Qwen2.5-3B": config(
        "qwen2", "Qwen2ForCausalLM", (2048, 11008, 36, 16, 2, 128, 151936), is_tied=True
    ),
    "Qwen2.5-7B": config(
        "qwen2", "Qwen2ForCausalLM", (3584, 18944, 28, 28, 4, 128, 152064), is_tied=False
    ),
    "Llama-3.2-1B": config(
        "llama", "LlamaForCausalLM", (2048, 8192, 16, 32, 8, 64, 128256), is_tied=True
    ),
    "Llama-3.2-3B": config(
        "llama", "LlamaForCausalLM", (3072, 8192, 28, 24, 8, 128, 128256), is_tied=True
    ),
    "Qwen3-4B": config(
        "qwen3", "Qwen3ForCausalLM", (2560, 9728, 36, 32, 8, 128, 151936), is_tied=True
    ),
}
# Linears at 8, 4 and 3 bits and lm_head at 8, all in groups of 128, in GB; keys and values of a
# token in kB. Worked out by hand from the published numbers of parameters:
# (linears * (bits + 1 / 8) + head * 8.125) / 8.
PUBLISHED = {
    "Qwen2.5-3B": ({8: 3.134, 4: 1.747, 3: 1.400}, 36.9),
    "Qwen2.5-7B": ({8: 7.181, 4: 3.918, 3: 3.102}, 57.3),
    "Llama-3.2-1B": ({8: 1.255, 4: 0.769, 3: 0.647}, 32.8),
    "Llama-3.2-3B": ({8: 3.263, 4: 1.853, 3: 1.501}, 114.7),
    "Qwen3-4B": ({8: 4.085, 4: 2.268, 3: 1.814}, 147.5),
}
CARD = Card("RTX 3050 Laptop GPU", (8, 6), 16, 4 * GIB, (12, 4), "0000:01:00.0")
LAPTOP = VramState("RTX 3050 Laptop GPU", 4 * GIB, 120 * MIB, 200 * MIB, 256 * MIB)


def weights_bytes(spec: ModelSpec, bits: int, num_full_layers: int = 0) -> int:
    """As w3 or w4 convert; the first layers at 4 bits."""

    def size(name: str, shape: tuple[int, int]) -> int:
        is_full = name.startswith("layers.") and int(name.split(".")[1]) < num_full_layers
        quant = grid_scheme(name, shape[1], 4 if is_full else bits)
        return scheme_bytes(quant, shape, has_bias(spec, name))

    return sum_weights(spec, size)


@pytest.mark.parametrize("bits", [8, 4, 3])
@pytest.mark.parametrize("name", CONFIGS)
def test_weights_and_cache_are_the_published_ones(name: str, bits: int) -> None:
    spec = create_spec(CONFIGS[name])
    gigabytes, kilobytes = PUBLISHED[name][0][bits], PUBLISHED[name][1]
    size, wanted = weights_bytes(spec, bits), KvOptions(wanted_len=2048)
    # Norms and biases are in the plan and not in the published figures: less than two thousandths.
    assert size == pytest.approx(gigabytes * 1e9, rel=2e-3)
    if gigabytes * 1e9 + 2048 * kilobytes * 1e3 > LAPTOP.available_bytes:
        with pytest.raises(MemoryShortageError, match="for a context of 2,048 tokens"):
            plan_vram(spec, size, LAPTOP, wanted)
        return
    plan = plan_vram(spec, size, LAPTOP, wanted)
    assert plan.kv_bytes == 2048 * plan.kv_bytes_per_token
    assert plan.kv_bytes_per_token == pytest.approx(kilobytes * 1e3, rel=2e-3)
    assert plan.needed_bytes <= LAPTOP.available_bytes


def test_seven_billion_weights_at_three_and_four_bits_fit_four_gigabytes() -> None:
    spec = create_spec(CONFIGS["Qwen2.5-7B"])
    mixed = weights_bytes(spec, 3, num_full_layers=3)
    plan = plan_vram(spec, mixed, LAPTOP, KvOptions(wanted_len=2048))
    assert mixed > weights_bytes(spec, 3)
    assert plan.needed_bytes <= 3.2 * GIB
    assert plan.peak_bytes == plan.needed_bytes + LAPTOP.context_bytes
    with pytest.raises(ResourceError, match=r"3 bits \(w3, or w3w4"):
        plan_vram(spec, weights_bytes(spec, 4), LAPTOP, KvOptions())


def test_the_context_is_the_longest_that_fits() -> None:
    spec = create_spec(CONFIGS["Qwen3-4B"])
    size = weights_bytes(spec, 4)
    plan = plan_vram(spec, size, LAPTOP, KvOptions())
    assert plan.needed_bytes <= LAPTOP.available_bytes
    assert plan.max_model_len == longest_context(spec, size, LAPTOP, KvOptions(), 32768)
    with pytest.raises(ResourceError):
        plan_vram(spec, size, LAPTOP, KvOptions(wanted_len=plan.max_model_len + 1))
    assert plan_vram(spec, size, LAPTOP, KvOptions("int8")).max_model_len > 1.7 * plan.max_model_len


def test_sequences_share_a_pool_without_shortening_the_context() -> None:
    """Eight of them, and their pool is half of what one context leaves of the card."""
    spec = create_spec(CONFIGS["Llama-3.2-3B"])
    size, page_bytes = weights_bytes(spec, 4), 256 * 114688
    alone = plan_vram(spec, size, LAPTOP, KvOptions(wanted_len=2048))
    shared = KvOptions("fp16", 8, 2048, shares_pages=True)
    plan = plan_vram(spec, size, LAPTOP, shared)
    assert (plan.max_model_len, plan.num_slots) == (2048, 8)
    further = 7 * (5 * spec.vocab_size + 8 * 4)  # counts of tokens, and a row of the table
    left = LAPTOP.available_bytes - alone.needed_bytes - further
    assert 8 < plan.num_pages < 64
    assert plan.num_pages == pytest.approx(8 + left // 2 // page_bytes, abs=1)
    assert plan.kv_bytes == plan.num_pages * page_bytes
    assert plan.needed_bytes <= LAPTOP.available_bytes


def test_a_full_card_has_the_context_of_one_sequence() -> None:
    spec = create_spec(CONFIGS["Qwen3-4B"])
    size = weights_bytes(spec, 4)
    alone = plan_vram(spec, size, LAPTOP, KvOptions())
    plan = plan_vram(spec, size, LAPTOP, KvOptions(num_slots=8, shares_pages=True))
    assert 0.95 * alone.max_model_len <= plan.max_model_len <= alone.max_model_len
    assert (plan.num_slots, plan.num_pages) == (8, -(-plan.max_model_len // 256))
    assert plan.needed_bytes <= LAPTOP.available_bytes


@pytest.mark.parametrize("num_slots", [1, 3, 8])
def test_a_wanted_context_comes_before_further_sequences(num_slots: int) -> None:
    spec = create_spec(CONFIGS["Qwen3-4B"])
    size = weights_bytes(spec, 4)
    alone = plan_vram(spec, size, LAPTOP, KvOptions(wanted_len=2048))
    further = 5 * spec.vocab_size + 8 * 4  # counts of tokens, and a row of the table
    room = alone.needed_bytes + (num_slots - 1) * further + 4096  # which buffers are rounded by
    card = VramState("card", room, 0, 0, 0)
    plan = plan_vram(spec, size, card, KvOptions("fp16", 8, 2048, shares_pages=True))
    assert (plan.max_model_len, plan.num_slots, plan.num_pages) == (2048, num_slots, 8)
    assert plan.needed_bytes <= room


def test_a_refusal_tells_the_numbers_and_what_would_fit() -> None:
    spec = create_spec(CONFIGS["Qwen3-4B"])
    size = weights_bytes(spec, 4)
    with pytest.raises(ResourceError) as caught:
        plan_vram(spec, size, LAPTOP, KvOptions(wanted_len=32768))
    assert "RTX 3050 Laptop GPU for a context of 32,768 tokens (weights 2.1" in caught.value.message
    assert "other programs hold 0.12 GiB, CUDA 0.20 GiB" in caught.value.message
    assert "tokens fits, with an int8 KV cache" in caught.value.message
    with pytest.raises(ResourceError, match="With an int8 KV cache it fits"):
        plan_vram(spec, size, LAPTOP, KvOptions(wanted_len=12000))
    with pytest.raises(UsageError, match="2 to 32,768"):
        plan_vram(spec, size, LAPTOP, KvOptions(wanted_len=1))


@pytest.mark.parametrize(
    ("name", "wanted", "kinds"),
    [
        ("Qwen3-4B", 32768, ["context", "int8_kv", "w3"]),
        ("Qwen3-4B", 12000, ["context", "int8_kv", "w3"]),
        ("Qwen2.5-7B", None, ["w3"]),
    ],
)
def test_what_a_refusal_offers_is_what_the_planner_takes(
    name: str, wanted: int | None, kinds: list[str]
) -> None:
    spec = create_spec(CONFIGS[name])
    size, kv = weights_bytes(spec, 4), KvOptions("fp16", 8, wanted, shares_pages=True)
    with pytest.raises(MemoryShortageError) as caught:
        plan_vram(spec, size, LAPTOP, kv)
    shortage = caught.value.shortage
    assert shortage is not None
    assert shortage.needed_bytes > shortage.free_bytes == LAPTOP.available_bytes
    assert shortage.weights_bytes == size
    parts = (shortage.weights_bytes, shortage.kv_bytes, shortage.workspace_bytes)
    assert sum(parts) == shortage.needed_bytes
    assert [remedy.kind.value for remedy in shortage.remedies] == kinds
    for remedy in shortage.remedies:
        kv_dtype = "int8" if remedy.kind is RemedyKind.INT8_KV else "fp16"
        with_it = replace(kv, kv_dtype=kv_dtype, wanted_len=remedy.max_model_len)
        plan = plan_vram(spec, remedy.weights_bytes, LAPTOP, with_it)
        assert plan.max_model_len == remedy.max_model_len
        assert plan.needed_bytes <= LAPTOP.available_bytes
        if remedy.max_model_len != wanted:  # else less was offered than fits, but not by much
            more = replace(with_it, wanted_len=remedy.max_model_len * 5 // 4)
            with pytest.raises(MemoryShortageError):
                plan_vram(spec, remedy.weights_bytes, LAPTOP, more)


def test_what_others_and_the_context_take_is_told_apart() -> None:
    before, after = CardMemory(4 * GIB, 3 * GIB, 1 * GIB), DeviceMemory(11 * GIB // 4, 4 * GIB)
    state = measured_state(CARD, before, after)
    assert (state.other_bytes, state.context_bytes) == (1 * GIB, GIB // 4)
    unknown = measured_state(CARD, None, after)
    assert (unknown.other_bytes, unknown.context_bytes) == (5 * GIB // 4, 0)
    assert (
        state.available_bytes == unknown.available_bytes == after.free_bytes - state.reserve_bytes
    )


def test_the_fit_table_is_the_cards_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.core.device.find_usable_card", lambda: CARD)
    monkeypatch.setattr(
        "app.engine.vram_plan.read_memory", lambda card: CardMemory(4 * GIB, 3 * GIB, 300 * MIB)
    )
    spec = create_spec(CONFIGS["Qwen2.5-7B"])
    fit = fit_machine(spec, ExactSizes(1, lambda name, shape: 8 * GIB))
    assert fit.device == "cuda"
    rows = {row.grid: row for row in fit.rows}
    assert list(rows) == ["exact", "w4", "w3", "w8"]
    assert rows["exact"].max_context == rows["w4"].max_context == 0
    assert 2048 < rows["w3"].max_context < rows["w3"].max_context_int8_kv < 32768
    assert rows["w3"].weights_bytes == weights_bytes(spec, 3)


class DroppingLauncher(HostLauncher):
    """Has memory that is never touched, so that it costs none."""

    def upload(self, array: Any, buffer: Buffer) -> None:
        assert array.nbytes <= buffer.num_bytes


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the fibers are Linux's")
def test_a_model_of_7_billion_weights_takes_what_is_planned() -> None:
    """Packed layer by layer with random codes, nothing left out: one of each kind, repeated."""
    config = CONFIGS["Qwen2.5-7B"]
    model = RandomModel("7B", config, lambda layer: 4 if layer < 3 else 3)
    launcher = DroppingLauncher()
    executor = create_executor(model, launcher, 2048)
    use = executor.memory_use()
    plan = plan_vram(
        model.spec,
        weights_bytes(model.spec, 3, num_full_layers=3),
        LAPTOP,
        KvOptions(wanted_len=2048),
    )
    assert launcher.allocated_bytes == plan.needed_bytes <= 3.2 * GIB
    assert (use.kv_bytes, use.workspace_bytes) == (plan.kv_bytes, plan.workspace_bytes)
    executor.close()
