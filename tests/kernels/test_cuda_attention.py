"""rope.cu and attention.cu against float64: pages, splits, windows, caps, sinks, int8, norms."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernels.cuda.attention import (
    ATTENTION_THREADS,
    DECODE_ARGS,
    ROPE_ARGS,
    blocks_per_kv_head,
    choose_split_keys,
)
from kernels.cuda.build import SOURCE_DIR, ModuleSource
from tests.kernels.cuda_attention import Cache, Case, Floats, Halfs, expected
from tests.kernels.cuda_heads import TURNINGS, Heads, Turning
from tests.kernels.cuda_host import HostModule, KernelFault, Schedule, build_host_module
from tests.kernels.faulty_launcher import Fault, plant

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fibers are Linux's")

Build = Callable[[ModuleSource], HostModule]


def module_of(source: ModuleSource) -> HostModule:
    return build_host_module(SOURCE_DIR / source.file, source.macros)


def attend(
    case: Case, cache: Cache, heads: Heads, sinks: Any, build: Build = module_of, **options: Any
) -> Halfs:
    rows = len(case.positions)
    splits = -(-(max(case.positions) + 1) // case.split_keys)
    blocks = case.num_kv_heads * blocks_per_kv_head(case.num_heads, case.num_kv_heads)
    arrived = np.zeros((rows, blocks), np.int32)
    fields = {
        "out": np.zeros((rows, case.num_heads, case.head_dim), np.float16),
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
    named = {f"attention.{name}": value for name, value in fields.items()}
    build(case.variant.attention_source).launch_struct(
        "attend",
        (blocks, splits, rows),
        (ATTENTION_THREADS,),
        DECODE_ARGS,
        {**named, **heads.fields, "num_rows": rows},
        **options,
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
    "a prompt": Case(positions=(0, 1, 2, 3, 4), is_chunk=True),
    "rows of one sequence": Case(positions=tuple(range(60, 68)), is_chunk=True),
    "a sequence that repeats its last": Case(positions=(254, 255, 256, 256), is_chunk=True),
    "rows of one sequence, int8, window": Case(
        int8_kv=True, window=20, positions=(127, 128, 129), is_chunk=True
    ),
}


def create(case: Case, turning: Turning) -> tuple[Cache, Heads, Any]:
    """A cache of all that came before the rows, the rows, and sinks."""
    cache = Cache(case)
    cache.fill(before_rows=True)
    sinks = np.random.default_rng(1).standard_normal(case.num_heads).astype(np.float32)
    heads = Heads(case, turning)
    if len(case.positions) > len(set(case.positions)):
        heads.qkv[-1] = heads.qkv[-2]
    return cache, heads, sinks


def error(found: Halfs, wanted: Floats) -> float:
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


def wanted_of(case: Case, cache: Cache, heads: Heads, sinks: Any) -> Floats:
    """Over the cache as it is stored."""
    queries = [heads.expected(row)[0] for row in range(len(case.positions))]
    return expected(case, cache, np.array(queries).astype(np.float16), sinks)


def assert_cached(case: Case, cache: Cache, heads: Heads) -> None:
    """The rows' keys and values stand in the cache, and what came before them as it was."""
    tolerance, before = 2e-2 if case.int8_kv else 4e-3, Cache(case)
    before.fill(before_rows=True)
    for slot in set(case.slots.tolist()):
        length = min(case.positions[row] for row in np.flatnonzero(case.slots == slot))
        assert np.array_equal(cache.read(slot, length), before.read(slot, length))
    for row, position in enumerate(case.positions):
        found = cache.read(int(case.slots[row]), position + 1)
        for rows, wanted in zip(found, heads.expected(row)[1:], strict=True):
            assert np.allclose(rows[position], wanted, atol=tolerance, rtol=2e-3)


@pytest.mark.parametrize("name", CASES)
def test_attention_equals_float64(name: str) -> None:
    case = CASES[name]
    cache, heads, sinks = create(case, Turning("head"))
    found = attend(case, cache, heads, sinks)
    assert_cached(case, cache, heads)
    assert error(found, wanted_of(case, cache, heads, sinks)) <= 1e-3
    for schedule in (Schedule.REVERSE, Schedule.GREEDY, Schedule.GREEDY_REVERSE, Schedule.RANDOM):
        again, _, _ = create(case, Turning("head"))
        other = attend(case, again, heads, sinks, schedule=schedule, reverse_blocks=True)
        assert np.array_equal(other, found)
        for name in ("keys", "values", "key_scales", "value_scales"):
            assert getattr(again, name).tobytes() == getattr(cache, name).tobytes()


@pytest.mark.parametrize("int8_kv", [False, True], ids=["halfs", "int8"])
@pytest.mark.parametrize("name", TURNINGS)
def test_heads_are_normed_turned_and_stored(name: str, int8_kv: bool) -> None:
    """Likewise by both kernels: for few rows, and for chunks."""
    case = Case(head_dim=48, positions=(700, 3), int8_kv=int8_kv)
    cache, heads, sinks = create(case, TURNINGS[name])
    found = attend(case, cache, heads, sinks)
    assert_cached(case, cache, heads)
    assert error(found, wanted_of(case, cache, heads, sinks)) <= 1e-3
    chunk, _, _ = create(case, TURNINGS[name])
    queries = rotate_and_store(case, chunk, heads)
    for row in range(2):
        assert np.allclose(queries[row], heads.expected(row)[0], atol=4e-3, rtol=2e-3)
    assert chunk.keys.tobytes() == cache.keys.tobytes()
    assert chunk.values.tobytes() == cache.values.tobytes()
    assert chunk.key_scales.tobytes() == cache.key_scales.tobytes()


@pytest.mark.parametrize("part", [1, 2], ids=["key", "value"])
@pytest.mark.parametrize("int8_kv", [False, True], ids=["halfs", "int8"])
def test_what_is_not_a_number_shows_in_its_own_row(int8_kv: bool, part: int) -> None:
    """One number of the last lane, of the first key or value head."""
    case = Case(head_dim=48, positions=(700, 3), int8_kv=int8_kv)
    cache, heads, sinks = create(case, TURNINGS["plain"])
    well = attend(case, cache, heads, sinks)
    first = case.num_heads + (part - 1) * case.num_kv_heads
    heads.qkv[0, first * 48 + 47] = np.nan
    found = attend(case, create(case, TURNINGS["plain"])[0], heads, sinks)
    group = case.num_heads // case.num_kv_heads
    assert np.isnan(found[0, :group]).any(-1).all()
    assert np.array_equal(found[0, group:], well[0, group:])
    assert np.array_equal(found[1], well[1])


def rotate_and_store(case: Case, cache: Cache, heads: Heads) -> Halfs:
    rows = len(case.positions)
    fields = {
        "queries": np.zeros((rows, case.num_heads, case.head_dim), np.float16),
        "slots": case.slots,
        "positions": np.array(case.positions, np.int32),
        **cache.fields,
        **heads.fields,
    }
    grid = (rows, case.num_heads + 2 * case.num_kv_heads)
    module_of(case.variant.rope_source).launch_struct(
        "rotate_and_store", grid, (32,), ROPE_ARGS, fields
    )
    return fields["queries"]


FAULTS: dict[str, Fault] = {
    "no wait for what was stored": (
        "attention.cu",
        "__syncthreads();  // keys, values and queries are there",
        "",
    ),
    "rows before this one are left out": (
        "attention.cu",
        "store_rows(step, slot, kv_head, span)",
        "store_rows(step, slot, kv_head, {position, position + 1})",
    ),
    "rows of other sequences": ("attention.cu", "args.attention.slots[row] != slot ||", ""),
    "values that turn": ("heads.cuh", "args.num_kv_heads, 0};", "args.num_kv_heads, 8};"),
}  # fmt: skip
# Each is compiled anew: the default suite plants the first of them.
SLOW_FAULTS = [pytest.param(name, marks=pytest.mark.slow) for name in list(FAULTS)[2:]]


@pytest.mark.parametrize("name", ["none", *list(FAULTS)[:2], *SLOW_FAULTS])
def test_a_planted_fault_shows(name: str, tmp_path: Path) -> None:
    directory = plant([FAULTS[name]] if name in FAULTS else [], tmp_path)
    is_seen = False
    for case in (
        Case(head_dim=32, positions=(60, 61, 62), is_chunk=True),
        Case(head_dim=32, positions=(60, 20)),
    ):
        for schedule in Schedule:
            cache, heads, sinks = create(case, Turning())
            try:
                found = attend(
                    case,
                    cache,
                    heads,
                    sinks,
                    lambda source: build_host_module(directory / source.file, source.macros),
                    schedule=schedule,
                    reverse_blocks=True,
                )
                assert_cached(case, cache, heads)
            except (KernelFault, AssertionError):
                is_seen = True
            else:
                close = error(found, wanted_of(case, cache, heads, sinks)) <= 1e-3
                is_seen = is_seen or not close
    assert is_seen is (name in FAULTS)


def test_splits_give_every_multiprocessor_work() -> None:
    assert choose_split_keys(512, 2, 16) == 64
    assert choose_split_keys(4096, 2, 16) == 256
    assert choose_split_keys(4096, 8, 132) == 128
