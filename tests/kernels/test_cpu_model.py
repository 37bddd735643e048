"""A native decoder layer, cache included, against the same layer in float64 NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from app.checkpoint.schemes import Linear
from app.engine.executors.cpu_plan import PlannedLinear
from kernels import reference
from kernels.cpu.loader import Config, Layer, NativeError, instruction_sets
from kernels.cpu.native import Context, NativeLinear, NativeModel, pointer

HIDDEN, INNER, VOCAB, EPS = 40, 56, 61, 1e-5
TOLERANCE_FP32_CACHE = 3e-6  # relative L2 of all logits
TOLERANCE_FP16_CACHE = 1e-3  # float16 rounds keys and values to 2^-11
LINEARS = ("q", "k", "v", "o", "gate", "up", "down")


@dataclass
class Decoder:
    """One random layer; weights float32, sizes explicit."""

    num_heads: int = 4
    num_kv_heads: int = 2
    head_dim: int = 16
    rotary_dim: int = 16
    sliding_window: int = 0
    with_qk_norm: bool = False
    weights: dict[str, npt.NDArray[np.float32]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(3)
        q_size, kv_size = self.num_heads * self.head_dim, self.num_kv_heads * self.head_dim
        shapes = {
            **{"q": (q_size, HIDDEN), "k": (kv_size, HIDDEN), "v": (kv_size, HIDDEN)},
            **{"o": (HIDDEN, q_size), "gate": (INNER, HIDDEN), "up": (INNER, HIDDEN)},
            **{"down": (HIDDEN, INNER), "embed": (VOCAB, HIDDEN), "head": (VOCAB, HIDDEN)},
            **{"input_norm": (HIDDEN,), "post_norm": (HIDDEN,), "norm": (HIDDEN,)},
            **{"q_norm": (self.head_dim,), "k_norm": (self.head_dim,)},
        }
        self.weights = {
            name: (rng.standard_normal(shape) * 0.3).astype(np.float32)
            for name, shape in shapes.items()
        }
        self.inv_freq = (0.5 ** np.arange(self.rotary_dim // 2)).astype(np.float32)

    def logits(self, token_ids: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
        """All positions at once, float64 [n, VOCAB]."""
        w = {name: array.astype(np.float64) for name, array in self.weights.items()}
        hidden = w["embed"][token_ids]
        normed = reference.rms_norm(hidden, w["input_norm"], EPS)
        hidden = hidden + reference.linear(self._attention(normed, w), w["o"])
        normed = reference.rms_norm(hidden, w["post_norm"], EPS)
        gate, up = reference.linear(normed, w["gate"]), reference.linear(normed, w["up"])
        hidden = hidden + reference.linear(reference.silu_mul(gate, up), w["down"])
        return reference.linear(reference.rms_norm(hidden, w["norm"], EPS), w["head"])

    def _attention(self, x: Any, w: dict[str, Any]) -> Any:
        positions = np.arange(len(x))
        q, k, v = (
            reference.linear(x, w[name]).reshape(len(x), -1, self.head_dim) for name in "qkv"
        )
        if self.with_qk_norm:
            q = reference.rms_norm(q, w["q_norm"], EPS)
            k = reference.rms_norm(k, w["k_norm"], EPS)
        q, k = (reference.rope(array, positions, self.inv_freq, 1.25) for array in (q, k))
        mixed = reference.attention(q, k, v, positions, self.sliding_window)
        return mixed.reshape(len(x), -1)


class Native:
    """The library's model of a `Decoder`."""

    def __init__(self, decoder: Decoder, instruction_set: str, kv_half: bool = False) -> None:
        self.context = Context(2, instruction_set)
        self.linears = {
            name: NativeLinear(self.context, PlannedLinear(Linear(w.shape, weight=w)).source)
            for name, w in decoder.weights.items()
            if w.ndim == 2
        }
        config = Config(
            hidden_size=HIDDEN,
            intermediate_size=INNER,
            num_layers=1,
            num_heads=decoder.num_heads,
            num_kv_heads=decoder.num_kv_heads,
            head_dim=decoder.head_dim,
            vocab_size=VOCAB,
            rotary_dim=decoder.rotary_dim,
            max_model_len=700,
            num_slots=2,
            kv_half=kv_half,
            rms_norm_eps=EPS,
            cos_sin_factor=1.25,
            inv_freq=pointer(decoder.inv_freq),
        )
        embed, head = self.linears["embed"], self.linears["head"]
        layer, norm = self._layer(decoder), decoder.weights["norm"]
        self.model = NativeModel(self.context, config, [layer], embed, norm, head)

    def _layer(self, decoder: Decoder) -> Layer:
        w, has_norm = decoder.weights, decoder.with_qk_norm
        return Layer(
            **{name: self.linears[name].handle for name in LINEARS},
            input_norm=pointer(w["input_norm"]),
            post_attention_norm=pointer(w["post_norm"]),
            q_norm=pointer(w["q_norm"]) if has_norm else None,
            k_norm=pointer(w["k_norm"]) if has_norm else None,
            sliding_window=decoder.sliding_window,
        )

    def run(
        self, token_ids: npt.NDArray[np.int32], start: int = 0, slot: int = 0
    ) -> npt.NDArray[np.float32]:
        """Logits of every token [n, VOCAB]."""
        n = len(token_ids)
        positions = np.arange(start, start + n, dtype=np.int32)
        slots, wanted = np.full(n, slot, np.int32), np.ones(n, np.uint8)
        return self.model.forward(token_ids, slots, positions, wanted)

    def close(self) -> None:
        self.model.close()
        for linear in self.linears.values():
            linear.close()
        self.context.close()


VARIANTS = {
    "plain": Decoder(),
    "multi_head": Decoder(num_kv_heads=4),
    "multi_query": Decoder(num_heads=6, num_kv_heads=1),
    "groups_of_three": Decoder(num_heads=9, num_kv_heads=3),
    "odd_head_dim": Decoder(head_dim=10, rotary_dim=10),
    "wide_heads": Decoder(head_dim=80, rotary_dim=80),
    "partial_rotary": Decoder(rotary_dim=8),
    "qk_norm": Decoder(with_qk_norm=True),
    "window_in_page": Decoder(sliding_window=9),
    "window_over_pages": Decoder(sliding_window=270),
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


def test_half_cache_is_close(instruction_set: str) -> None:
    native = Native(VARIANTS["plain"], instruction_set, kv_half=True)
    error = error_against("plain", native.run(TOKENS))
    assert error < TOLERANCE_FP16_CACHE
    native.close()


def test_half_cache_takes_half_the_bytes() -> None:
    sizes = []
    for kv_half in (False, True):
        native = Native(VARIANTS["plain"], "portable", kv_half)
        native.run(TOKENS[:257])
        sizes.append(native.model.kv_bytes)
        native.close()
    assert sizes == [
        2 * 256 * 2 * 2 * 16 * 4,
        2 * 256 * 2 * 2 * 16 * 2,
    ]  # pages, K and V, heads, head_dim


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
