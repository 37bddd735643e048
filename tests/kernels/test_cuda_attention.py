"""rope.cu and attention.cu against float64: pages, splits, windows, caps, sinks, int8, norms."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from kernels.cuda.attention import (
    ATTENTION_ARGS,
    ATTENTION_THREADS,
    PAGE_POSITIONS,
    ROPE_ARGS,
    blocks_per_kv_head,
    choose_split_keys,
)
from kernels.cuda.build import SOURCE_DIR, ModuleSource
from tests.kernels.cuda_attention import (
    Cache,
    Case,
    Floats,
    Halfs,
    expected,
    random_halfs,
)
from tests.kernels.cuda_host import HostModule, Schedule, build_host_module

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fibers are Linux's")


def module_of(source: ModuleSource) -> HostModule:
    return build_host_module(SOURCE_DIR / source.file, source.macros)


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
        "slots": case.slots,
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
    cache.fill()
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
