"""rope.cu and attention.cu against float64: pages, splits, windows, caps, sinks, int8, norms."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from kernels.cuda.attention import (
    ATTENTION_ARGS,
    ATTENTION_THREADS,
    PAGE_POSITIONS,
    ROPE_ARGS,
    AttentionVariant,
    blocks_per_kv_head,
    choose_split_keys,
)
from kernels.cuda.build import SOURCE_DIR, ModuleSource
from tests.kernels.cuda_host import HostModule, Schedule, build_host_module

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fibers are Linux's")

Floats = npt.NDArray[np.float64]
Halfs = npt.NDArray[np.float16]


@dataclass(frozen=True)
class Case:
    """Sizes and options of one attention block; positions are those of the rows, a slot each."""

    head_dim: int = 64
    num_heads: int = 4
    num_kv_heads: int = 2
    positions: tuple[int, ...] = (37,)
    window: int = 0
    softcap: float = 0.0
    has_sinks: bool = False
    int8_kv: bool = False
    split_keys: int = 64

    @property
    def variant(self) -> AttentionVariant:
        return AttentionVariant(self.head_dim, self.int8_kv)

    @property
    def max_pages(self) -> int:
        return -(-(max(self.positions) + 1) // PAGE_POSITIONS)


class Cache:
    """Arrays of a KV cache; what was never written holds NaN, which must not be seen."""

    def __init__(self, case: Case, seed: int = 0) -> None:
        self.case, rng = case, np.random.default_rng(seed)
        slots = len(case.positions)
        num_pages = slots * case.max_pages + 1
        self.pages = rng.permutation(num_pages)[: slots * case.max_pages].astype(np.int32)
        rows = (num_pages, case.num_kv_heads, PAGE_POSITIONS)
        dtype, fill = (np.int8, 77) if case.int8_kv else (np.float16, np.nan)
        self.keys = np.full((*rows, case.head_dim), fill, dtype)
        self.values = np.full((*rows, case.head_dim), fill, dtype)
        self.key_scales = np.full(rows, np.nan, np.float16)
        self.value_scales = np.full(rows, np.nan, np.float16)

    @property
    def fields(self) -> dict[str, Any]:
        arrays = {"keys": self.keys, "values": self.values, "pages": self.pages}
        if self.case.int8_kv:
            arrays |= {"key_scales": self.key_scales, "value_scales": self.value_scales}
        sizes = {"max_pages": self.case.max_pages, "num_kv_heads": self.case.num_kv_heads}
        return {f"cache.{name}": value for name, value in {**arrays, **sizes}.items()}

    def write(self, slot: int, keys: Halfs, values: Halfs) -> None:
        """keys and values [length, num_kv_heads, head_dim] at positions 0, 1, ..."""
        for position in range(len(keys)):
            page = self.pages[slot * self.case.max_pages + position // PAGE_POSITIONS]
            at = page, slice(None), position % PAGE_POSITIONS
            if self.case.int8_kv:
                self.keys[at], self.key_scales[at] = quantize(keys[position])
                self.values[at], self.value_scales[at] = quantize(values[position])
            else:
                self.keys[at], self.values[at] = keys[position], values[position]

    def read(self, slot: int, length: int) -> tuple[Floats, Floats]:
        """What the cache means, [length, num_kv_heads, head_dim] each."""
        found = []
        for rows, scales in ((self.keys, self.key_scales), (self.values, self.value_scales)):
            positions = np.arange(length)
            pages = self.pages[slot * self.case.max_pages + positions // PAGE_POSITIONS]
            at = pages, slice(None), positions % PAGE_POSITIONS
            values = rows[at].astype(np.float64)
            found.append(values * scales[at][..., None] if self.case.int8_kv else values)
        return found[0], found[1]


def quantize(rows: Halfs) -> tuple[npt.NDArray[np.int8], Halfs]:
    """[heads, head_dim] -> codes and one scale a head."""
    scales = (np.abs(rows).max(-1).astype(np.float32) / 127).astype(np.float16)
    codes = np.rint(rows.astype(np.float32) / scales.astype(np.float32)[:, None])
    return np.clip(codes, -127, 127).astype(np.int8), scales


def module_of(source: ModuleSource) -> HostModule:
    return build_host_module(SOURCE_DIR / source.file, source.macros)


def random_halfs(rng: np.random.Generator, *shape: int) -> Halfs:
    return rng.standard_normal(shape).astype(np.float16)


def attend(case: Case, cache: Cache, queries: Halfs, sinks: Any, **options: Any) -> Halfs:
    rows = len(case.positions)
    splits = -(-(max(case.positions) + 1) // case.split_keys)
    blocks = case.num_kv_heads * blocks_per_kv_head(case.num_heads, case.num_kv_heads)
    arrived = np.zeros((rows, blocks), np.int32)
    fields = {
        "queries": queries,
        "out": np.zeros_like(queries),
        "partial": np.full((rows, case.num_heads, splits, case.head_dim + 2), np.nan, np.float32),
        "arrived": arrived,
        "slots": np.arange(rows, dtype=np.int32),
        "positions": np.array(case.positions, np.int32),
        "num_heads": case.num_heads,
        "window": case.window,
        "split_keys": case.split_keys,
        "max_splits": splits,
        "scale": case.head_dim**-0.5,
        "softcap": case.softcap,
        **({"sinks": sinks} if case.has_sinks else {}),
        **cache.fields,
    }
    module_of(case.variant.attention_source).launch_struct(
        "attend", (blocks, splits, rows), (ATTENTION_THREADS,), ATTENTION_ARGS, fields, **options
    )
    assert not arrived.any()
    return fields["out"]


def expected(case: Case, cache: Cache, queries: Halfs, sinks: Any) -> Floats:
    result = np.zeros(queries.shape)
    shared_by = case.num_heads // case.num_kv_heads
    for row, position in enumerate(case.positions):
        keys, values = cache.read(row, position + 1)
        first = max(0, position + 1 - case.window) if case.window else 0
        for head in range(case.num_heads):
            kv = head // shared_by
            scores = keys[first:, kv] @ queries[row, head].astype(np.float64)
            scores *= case.head_dim**-0.5
            if case.softcap:
                scores = case.softcap * np.tanh(scores / case.softcap)
            weights = np.exp(scores - scores.max())
            total = weights.sum()
            if case.has_sinks:
                total += np.exp(sinks[head] - scores.max())
            result[row, head] = weights @ values[first:, kv] / total
    return result


CASES = {
    "one key": Case(positions=(0,)),
    "one split": Case(positions=(37, 63)),
    "many splits": Case(positions=(700, 64, 255)),
    "wide heads": Case(head_dim=128, num_heads=14, num_kv_heads=2, positions=(300,)),
    "seven share, one of eight": Case(num_heads=7, num_kv_heads=1, positions=(90,)),
    "more than eight share": Case(num_heads=12, num_kv_heads=1, positions=(90,)),
    "eighty columns": Case(head_dim=80, positions=(130,)),
    "sixteen columns": Case(head_dim=16, positions=(20, 130)),
    "256 columns": Case(head_dim=256, num_heads=2, num_kv_heads=1, positions=(130,)),
    "window": Case(window=50, positions=(700, 20, 49, 50)),
    "window of one page": Case(window=256, positions=(600,), split_keys=128),
    "softcap": Case(softcap=5.0, positions=(200,)),
    "sinks": Case(has_sinks=True, positions=(200, 3)),
    "int8": Case(int8_kv=True, positions=(300, 15)),
    "int8, wide, window": Case(int8_kv=True, head_dim=128, window=100, positions=(300,)),
}


@pytest.mark.parametrize("name", CASES)
def test_attention_equals_float64(name: str) -> None:
    case, rng = CASES[name], np.random.default_rng(1)
    cache = Cache(case)
    for slot, position in enumerate(case.positions):
        shape = (position + 1, case.num_kv_heads, case.head_dim)
        cache.write(slot, random_halfs(rng, *shape), random_halfs(rng, *shape))
    queries = random_halfs(rng, len(case.positions), case.num_heads, case.head_dim)
    sinks = rng.standard_normal(case.num_heads).astype(np.float32)
    wanted = expected(case, cache, queries, sinks)
    found = attend(case, cache, queries, sinks)
    assert np.linalg.norm(found - wanted) / np.linalg.norm(wanted) <= 1e-3
    for schedule in (Schedule.REVERSE, Schedule.GREEDY, Schedule.GREEDY_REVERSE, Schedule.RANDOM):
        again = attend(case, cache, queries, sinks, schedule=schedule, reverse_blocks=True)
        assert np.array_equal(again, found)


ROPE_CASES = {
    "plain": {},
    "head norms": {"norm": "head"},
    "projection norms": {"norm": "projection"},
    "partial": {"rotary_dim": 24},
    "no positions": {"rotary_dim": 0},
    "int8": {"int8": True},
    "scaled queries": {"beta": 0.1},
}


@pytest.mark.parametrize("name", ROPE_CASES)
def test_heads_are_normed_rotated_and_stored(name: str) -> None:
    options: dict[str, Any] = ROPE_CASES[name]
    rng = np.random.default_rng(2)
    case = Case(head_dim=48, positions=(700, 3), int8_kv=options.get("int8", False))
    cache, rotary_dim = Cache(case), options.get("rotary_dim", 48)
    width = (case.num_heads + 2 * case.num_kv_heads) * case.head_dim
    qkv, norm = random_halfs(rng, 2, width), options.get("norm")
    inv_freq = (10000.0 ** -(np.arange(0, rotary_dim, 2) / max(rotary_dim, 1))).astype(np.float32)
    norms = {
        f"{kind}_norm": (1 + 0.1 * rng.standard_normal(48 * (heads if norm == "projection" else 1)))
        .astype(np.float32)
        for kind, heads in (("q", case.num_heads), ("k", case.num_kv_heads))
        if norm
    }  # fmt: skip
    fields = {
        "qkv": qkv,
        "queries": np.zeros((2, case.num_heads, 48), np.float16),
        "inv_freq": inv_freq if rotary_dim else np.zeros(4, np.float32),
        "slots": np.arange(2, dtype=np.int32),
        "positions": np.array(case.positions, np.int32),
        "num_heads": case.num_heads,
        "rotary_dim": rotary_dim,
        "is_projection_norm": int(norm == "projection"),
        "eps": 1e-6,
        "cos_sin_factor": 1.2,
        "query_scaling_beta": options.get("beta", 0.0),
        "query_scaling_length": 64.0,
        **norms,
        **cache.fields,
    }
    grid = (2, case.num_heads + 2 * case.num_kv_heads)
    module_of(case.variant.rope_source).launch_struct(
        "rotate_and_store", grid, (32,), ROPE_ARGS, fields
    )
    for row, position in enumerate(case.positions):
        parts = np.split(qkv[row].astype(np.float64).reshape(-1, 48), [4, 6])
        angles = position * inv_freq.astype(np.float64)
        scale = 1 + options.get("beta", 0.0) * np.log1p(position // 64)
        wanted_q = rotate(normed(parts[0], norms.get("q_norm"), norm), angles, 1.2) * scale
        wanted_k = rotate(normed(parts[1], norms.get("k_norm"), norm), angles, 1.2)
        tolerance = 1e-2 if case.int8_kv else 2e-3
        page = cache.pages[row * case.max_pages + position // PAGE_POSITIONS]
        at = page, slice(None), position % PAGE_POSITIONS
        unit = {"keys": 1.0, "values": 1.0}
        if case.int8_kv:
            unit = {
                "keys": cache.key_scales[at][:, None],
                "values": cache.value_scales[at][:, None],
            }
        assert np.allclose(fields["queries"][row], wanted_q, atol=4e-3, rtol=2e-3)
        assert np.allclose(cache.keys[at] * unit["keys"], wanted_k, atol=2 * tolerance, rtol=2e-3)
        assert np.allclose(cache.values[at] * unit["values"], parts[2], atol=2 * tolerance)


def normed(heads: Floats, weight: Any, kind: str | None) -> Floats:
    """heads [n, head_dim]."""
    if kind is None:
        return heads
    axis = None if kind == "projection" else -1
    mean = (heads**2).mean(axis=axis, keepdims=True)
    return heads / np.sqrt(mean + 1e-6) * weight.astype(np.float64).reshape(-1, heads.shape[1])


def rotate(heads: Floats, angles: Floats, factor: float) -> Floats:
    half = len(angles)
    if half == 0:
        return heads
    first, second, rest = np.split(heads, [half, 2 * half], axis=1)
    cosine, sine = np.cos(angles) * factor, np.sin(angles) * factor
    return np.hstack([first * cosine - second * sine, second * cosine + first * sine, rest])


def test_splits_give_every_multiprocessor_work() -> None:
    assert choose_split_keys(512, 2, 16) == 64
    assert choose_split_keys(4096, 2, 16) == 256
    assert choose_split_keys(4096, 8, 132) == 128
