"""A native decoder layer, cache included, against the same layer in float64 NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from app.engine.kv_dtype import kv_head_bytes
from kernels.cpu.loader import NativeError, instruction_sets
from tests.kernels.cpu_decoders import ACTS, VOCAB, Decoder, LatentSizes, Native
from tests.kernels.delta_sizes import DeltaSizes
from tests.kernels.experts import Experts

TOLERANCE_FP32_CACHE = 3e-6  # relative L2 of all logits
# float16 rounds keys and values to 2^-11, int8 to half of 1/127 of the largest.
TOLERANCES = {"fp16": 1e-3, "int8": 1e-2}
KV_TYPES = {"fp32": 0, "fp16": 1, "int8": 2}  # as in api.h

VARIANTS = {
    "plain": Decoder(),
    "multi_head": Decoder(num_kv_heads=4),
    "multi_query": Decoder(num_heads=6, num_kv_heads=1),
    "groups_of_three": Decoder(num_heads=9, num_kv_heads=3),
    "odd_head_dim": Decoder(head_dim=10, rotary_dim=10),
    "wide_heads": Decoder(head_dim=80, rotary_dim=80, attention_multiplier=80**-0.5),
    "partial_rotary": Decoder(rotary_dim=8),
    "no_rotary": Decoder(has_rope=False),
    "qk_norm": Decoder(qk_norm="head"),
    "qk_norm_projection": Decoder(qk_norm="projection"),
    "window_in_page": Decoder(sliding_window=9),
    "window_over_pages": Decoder(sliding_window=270),
    "layer_norm": Decoder(layer_norm=True),
    "layer_norm_biases": Decoder(layer_norm=True, has_bias=True, placement="sandwich"),
    "post_norms": Decoder(placement="post"),
    "sandwich_norms": Decoder(placement="sandwich"),
    "plain_mlp": Decoder(is_gated=False, act="gelu", has_bias=True),
    **{act: Decoder(act=act) for act in ACTS},
    "softcap": Decoder(softcap=2.0, attention_multiplier=0.6),
    "sinks": Decoder(has_sinks=True, sliding_window=9),
    "sinks_and_groups": Decoder(has_sinks=True, num_heads=12, num_kv_heads=2),
    "output_gate": Decoder(has_output_gate=True),
    "query_scaling": Decoder(beta=0.1),
    "multipliers": Decoder(embedding_multiplier=6.5, residual_multiplier=0.22),
    "logits": Decoder(logits_multiplier=0.4, final_softcap=1.5),
    "latent": Decoder(latent=LatentSizes(), num_kv_heads=4, rotary_dim=6),
    "latent_plain_queries": Decoder(
        latent=LatentSizes(q=0, nope=6, rope=10, value=20), num_kv_heads=4, rotary_dim=10
    ),
    "delta_net": Decoder(delta=DeltaSizes()),
    "delta_net_odd": Decoder(delta=DeltaSizes(2, 2, 7, 21, 2), placement="sandwich"),
    "delta_net_wide": Decoder(delta=DeltaSizes(1, 3, 34, 52, 5), experts=Experts()),
    "experts": Decoder(experts=Experts()),
    "experts_in_groups": Decoder(
        experts=Experts(num_experts=12, num_experts_per_tok=3, num_groups=4, topk_groups=2)
    ),
    "experts_by_sigmoid": Decoder(
        experts=Experts(
            num_experts=12,
            num_experts_per_tok=4,
            scoring="sigmoid",
            norm_topk_prob=True,
            routed_scaling_factor=2.5,
            num_groups=3,
            topk_groups=2,
            group_scoring="top2_sum",
            has_correction=True,
            shared_size=36,
        )
    ),
    "experts_of_gpt_oss": Decoder(
        experts=Experts(scoring="softmax_topk", is_clamped=True, num_experts_per_tok=3),
        has_sinks=True,
    ),
    "shared_expert": Decoder(
        experts=Experts(norm_topk_prob=True, shared_size=20, has_shared_gate=True),
        placement="sandwich",
        act="gelu",
    ),
}
TOKENS = (
    np.random.default_rng(9).integers(0, VOCAB, 530).astype(np.int32)
)  # three pages, the last in part


@pytest.fixture(params=instruction_sets())
def instruction_set(request: pytest.FixtureRequest) -> str:
    """Every instruction set of this machine."""
    return str(request.param)


@pytest.fixture
def native(instruction_set: str) -> Iterator[Native]:
    """The plain decoder."""
    native = Native(VARIANTS["plain"], instruction_set)
    yield native
    native.close()


@cache
def expected_logits(variant: str) -> npt.NDArray[np.float64]:
    """NumPy's logits of TOKENS."""
    return VARIANTS[variant].logits(TOKENS)


def error_against(variant: str, actual: npt.NDArray[np.float32]) -> float:
    """Relative L2 of the logits of TOKENS."""
    expected = expected_logits(variant)
    return float(np.linalg.norm(actual - expected) / np.linalg.norm(expected))


@pytest.mark.parametrize("variant", VARIANTS)
def test_prefill_equals_numpy(instruction_set: str, variant: str) -> None:
    native = Native(VARIANTS[variant], instruction_set)
    assert error_against(variant, native.run(TOKENS)) < TOLERANCE_FP32_CACHE
    native.close()


@pytest.mark.parametrize("variant", VARIANTS)
def test_decode_equals_numpy(instruction_set: str, variant: str) -> None:
    native = Native(VARIANTS[variant], instruction_set)
    rows = [native.run(TOKENS[i : i + 1], start=i) for i in range(len(TOKENS))]
    assert error_against(variant, np.concatenate(rows)) < TOLERANCE_FP32_CACHE
    native.close()


@pytest.mark.parametrize("kv_dtype", ["fp16", "int8"])
@pytest.mark.parametrize("variant", ["plain", "odd_head_dim", "multi_query", "window_over_pages"])
def test_small_caches_are_close(instruction_set: str, variant: str, kv_dtype: str) -> None:
    native = Native(VARIANTS[variant], instruction_set, KV_TYPES[kv_dtype])
    assert error_against(variant, native.run(TOKENS)) < TOLERANCES[kv_dtype]
    native.close()


@pytest.mark.parametrize("kv_dtype", KV_TYPES)
@pytest.mark.parametrize("variant", ["plain", "groups_of_three", "window_over_pages"])
def test_pieces_of_any_length_give_the_same_bits(
    instruction_set: str, variant: str, kv_dtype: str
) -> None:
    """Queries beside each other, and the cutting into pages, change no rounding."""
    native = Native(VARIANTS[variant], instruction_set, KV_TYPES[kv_dtype])
    whole = native.run(TOKENS)
    for size in (1, 2, 3, 11):
        rows = np.concatenate([native.run(TOKENS[i : i + size], i) for i in range(230, 300, size)])
        np.testing.assert_array_equal(rows, whole[230 : 230 + len(rows)])
    native.close()


@pytest.mark.parametrize("kv_dtype", KV_TYPES)
def test_caches_take_the_bytes_that_are_planned(kv_dtype: str) -> None:
    native = Native(VARIANTS["plain"], "portable", KV_TYPES[kv_dtype])
    native.run(TOKENS[:257])
    assert native.model.kv_bytes == 2 * 256 * 2 * 2 * kv_head_bytes(kv_dtype, 16)  # pages, heads
    native.close()


def test_slots_do_not_see_each_other(native: Native) -> None:
    alone = native.run(TOKENS[:40])
    native.run(TOKENS[100:160], slot=1)
    again = native.run(TOKENS[:40])
    np.testing.assert_array_equal(again, alone)


def test_several_slots_in_one_call(native: Native) -> None:
    native.run(TOKENS[:40], slot=0)
    native.run(TOKENS[100:130], slot=1)
    both = native.model.forward(
        TOKENS[[40, 130]],
        np.array([0, 1], np.int32),
        np.array([40, 30], np.int32),
        np.ones(2, np.uint8),
    )
    expected = [
        VARIANTS["plain"].logits(TOKENS[:41])[-1],
        VARIANTS["plain"].logits(TOKENS[100:131])[-1],
    ]
    np.testing.assert_allclose(both, expected, atol=1e-5)


def test_going_back_overwrites_the_cache(native: Native) -> None:
    native.run(TOKENS[:300])
    native.run(TOKENS[300:400], start=20)  # another continuation of the first 20
    expected = VARIANTS["plain"].logits(np.concatenate([TOKENS[:20], TOKENS[300:401]]))[-1:]
    np.testing.assert_allclose(native.run(TOKENS[400:401], start=120), expected, atol=1e-5)


def test_states_go_on_in_pieces_to_the_same_bits(instruction_set: str) -> None:
    native = Native(VARIANTS["delta_net"], instruction_set)
    whole = native.run(TOKENS[:140])  # two pieces of a step
    for size in (1, 2, 3, 11):
        rows = [native.run(TOKENS[i : i + size], start=i) for i in range(0, 66, size)]
        np.testing.assert_array_equal(np.concatenate(rows), whole[:66])
    native.close()


def test_states_of_several_slots_in_one_call(instruction_set: str) -> None:
    native = Native(VARIANTS["delta_net"], instruction_set)
    native.run(TOKENS[:40], slot=0)
    native.run(TOKENS[100:130], slot=1)
    got = native.model.forward(
        TOKENS[[40, 130, 200, 131, 201]],  # the second beginning of slot 0 follows its end
        np.array([0, 1, 0, 1, 0], np.int32),
        np.array([40, 30, 0, 31, 1], np.int32),
        np.ones(5, np.uint8),
    )
    logits = VARIANTS["delta_net"].logits
    first, second = logits(TOKENS[:41])[-1:], logits(TOKENS[100:132])[-2:]
    anew = logits(TOKENS[200:202])
    expected = np.concatenate([first, second[:1], anew[:1], second[1:], anew[1:]])
    np.testing.assert_allclose(got, expected, atol=1e-5)
    native.close()


def test_only_wanted_rows_give_logits(native: Native) -> None:
    every = native.run(TOKENS[:5])
    wanted = np.array([0, 1, 0, 0, 1], np.uint8)
    positions = np.arange(5, dtype=np.int32)
    some = native.model.forward(TOKENS[:5], np.zeros(5, np.int32), positions, wanted)
    np.testing.assert_allclose(some, every[[1, 4]], rtol=1e-6)


@pytest.mark.parametrize(
    ("token", "slot", "position", "reason"),
    [(VOCAB, 0, 0, "vocabulary"), (0, 2, 0, "slot"), (0, 0, 700, "position"), (-1, 0, 0, "vocab")],
)
def test_rows_outside_are_refused(
    native: Native, token: int, slot: int, position: int, reason: str
) -> None:
    arrays = (np.array([value], np.int32) for value in (token, slot, position))
    with pytest.raises(NativeError, match=reason):
        native.model.forward(*arrays, np.ones(1, np.uint8))


def test_wrong_shape_is_refused() -> None:
    decoder = Decoder()
    decoder.weights["down"] = decoder.weights["down"][:, :-1].copy()
    with pytest.raises(NativeError, match="down_proj has the wrong shape"):
        Native(decoder, "portable")


def test_an_expert_that_nobody_chooses_is_not_read(instruction_set: str) -> None:
    never = Decoder(experts=VARIANTS["experts_by_sigmoid"].experts)
    never.weights["correction"][[2, 5]] = -100.0
    expected = never.logits(TOKENS[:40])
    for name in ("gate", "up", "down"):
        never.weights[f"expert2.{name}"][:] = np.nan
        never.weights[f"expert5.{name}"][:] = np.nan
    native = Native(never, instruction_set)
    whole = native.run(TOKENS[:40])
    single = np.concatenate([native.run(TOKENS[i : i + 1], start=i) for i in range(40)])
    np.testing.assert_allclose(whole, expected, atol=1e-5)
    np.testing.assert_allclose(single, expected, atol=1e-5)
    native.close()


def test_routing_that_cannot_be_is_refused() -> None:
    experts = Experts(num_groups=4, topk_groups=1, num_experts_per_tok=3)
    with pytest.raises(NativeError, match="the chosen groups have too few experts"):
        Native(Decoder(experts=experts), "portable")
