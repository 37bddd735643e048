"""latent.cu and latent_attention.cu against float64: norm, rope, pages, splits, windows, int8."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from kernels.cuda.attention import ATTENTION_ARGS, MAX_QUERIES, PAGE_POSITIONS
from kernels.cuda.build import SOURCE_DIR, ModuleSource
from kernels.cuda.latent import (
    LATENT_ARGS,
    LATENT_ATTENTION_THREADS,
    LATENT_ROPE_THREADS,
    LatentVariant,
)
from tests.kernels.cuda_heads import rotate
from tests.kernels.cuda_host import HostModule, Schedule, build_host_module

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fibers are Linux's")

Floats = npt.NDArray[np.float64]
SCALE = 0.11


@dataclass(frozen=True)
class Case:
    """Sizes and options; positions are those of the rows, a slot each."""

    latent_dim: int = 64
    rope_dim: int = 16
    num_heads: int = 4
    positions: tuple[int, ...] = (37,)
    window: int = 0
    softcap: float = 0.0
    int8_kv: bool = False
    split_keys: int = 64

    @property
    def variant(self) -> LatentVariant:
        return LatentVariant(self.latent_dim, self.rope_dim, self.int8_kv)

    @property
    def max_pages(self) -> int:
        return -(-(max(self.positions) + 1) // PAGE_POSITIONS)


class Cache:
    """Rows of a latent cache; what was never written holds NaN, which must not be seen."""

    def __init__(self, case: Case) -> None:
        self.case, rng = case, np.random.default_rng(0)
        slots = len(case.positions)
        num_pages = slots * case.max_pages + 1
        self.pages = rng.permutation(num_pages)[: slots * case.max_pages].astype(np.int32)
        dtype, fill = (np.int8, 77) if case.int8_kv else (np.float16, np.nan)
        rows = (num_pages, PAGE_POSITIONS)
        self.keys = np.full((*rows, case.variant.key_dim), fill, dtype)
        self.latent_scales = np.full(rows, np.nan, np.float16)
        self.rope_scales = np.full(rows, np.nan, np.float16)

    @property
    def fields(self) -> dict[str, Any]:
        arrays: dict[str, Any] = {"keys": self.keys, "pages": self.pages}
        if self.case.int8_kv:
            arrays |= {"key_scales": self.latent_scales, "value_scales": self.rope_scales}
        sizes = {"max_pages": self.case.max_pages, "num_kv_heads": 1}
        return {f"cache.{name}": value for name, value in {**arrays, **sizes}.items()}

    def at(self, slot: int, positions: Any) -> Any:
        pages = self.pages[slot * self.case.max_pages + positions // PAGE_POSITIONS]
        return pages, positions % PAGE_POSITIONS

    def write(self, slot: int, rows: npt.NDArray[np.float16]) -> None:
        """rows [length, key_dim] at positions 0, 1, ..."""
        at = self.at(slot, np.arange(len(rows)))
        if not self.case.int8_kv:
            self.keys[at] = rows
            return
        parts = np.split(rows.astype(np.float32), [self.case.latent_dim], axis=1)
        scales = [(np.abs(part).max(1) / 127).astype(np.float16) for part in parts]
        codes = [
            np.rint(part / unit.astype(np.float32)[:, None])
            for part, unit in zip(parts, scales, strict=True)
        ]
        self.keys[at] = np.hstack(codes).astype(np.int8)
        self.latent_scales[at], self.rope_scales[at] = scales

    def read(self, slot: int, length: int) -> Floats:
        """What the cache means, [length, key_dim]."""
        at = self.at(slot, np.arange(length))
        rows = self.keys[at].astype(np.float64)
        if self.case.int8_kv:
            rows[:, : self.case.latent_dim] *= self.latent_scales[at][:, None]
            rows[:, self.case.latent_dim :] *= self.rope_scales[at][:, None]
        return rows


def module_of(source: ModuleSource) -> HostModule:
    return build_host_module(SOURCE_DIR / source.file, source.macros)


def attend(case: Case, cache: Cache, queries: npt.NDArray[np.float16], **options: Any) -> Any:
    rows, splits = len(case.positions), -(-(max(case.positions) + 1) // case.split_keys)
    blocks = -(-case.num_heads // MAX_QUERIES)
    arrived = np.zeros((rows, blocks), np.int32)
    partial = (rows, case.num_heads, splits, case.latent_dim + 2)
    fields = {
        "queries": queries,
        "out": np.zeros((rows, case.num_heads, case.latent_dim), np.float16),
        "partial": np.full(partial, np.nan, np.float32),
        "arrived": arrived,
        "slots": np.arange(rows, dtype=np.int32),
        "positions": np.array(case.positions, np.int32),
        "num_heads": case.num_heads,
        "window": case.window,
        "split_keys": case.split_keys,
        "max_splits": splits,
        "scale": SCALE,
        "softcap": case.softcap,
        **cache.fields,
    }
    grid, threads = (blocks, splits, rows), (LATENT_ATTENTION_THREADS,)
    module_of(case.variant.attention_source).launch_struct(
        "attend_latent", grid, threads, ATTENTION_ARGS, fields, **options
    )
    assert not arrived.any()
    return fields["out"]


def expected(case: Case, cache: Cache, queries: npt.NDArray[np.float16]) -> Floats:
    result = np.zeros((*queries.shape[:2], case.latent_dim))
    for row, position in enumerate(case.positions):
        first = max(0, position + 1 - case.window) if case.window else 0
        keys = cache.read(row, position + 1)[first:]
        scores = queries[row].astype(np.float64) @ keys.T * SCALE
        if case.softcap:
            scores = case.softcap * np.tanh(scores / case.softcap)
        weights = np.exp(scores - scores.max(1, keepdims=True))
        values = keys[:, : case.latent_dim]
        result[row] = weights @ values / weights.sum(1, keepdims=True)
    return result


CASES = {
    "one key": Case(positions=(0,)),
    "one split": Case(positions=(37, 63)),
    "many splits": Case(positions=(700, 64, 255)),
    "as DeepSeek-V2-Lite": Case(512, 64, num_heads=16, positions=(150, 3), split_keys=128),
    "not whole blocks": Case(40, 8, num_heads=5, positions=(130,)),
    "window and softcap": Case(window=50, softcap=3.0, positions=(300, 49, 50)),
    "int8": Case(int8_kv=True, positions=(300, 15)),
    "int8, wide": Case(512, 64, int8_kv=True, positions=(100,)),
}


@pytest.mark.parametrize("name", CASES)
def test_attention_over_latent_vectors_equals_float64(name: str) -> None:
    case, rng = CASES[name], np.random.default_rng(1)
    cache = Cache(case)
    for slot, position in enumerate(case.positions):
        rows = rng.standard_normal((position + 1, case.variant.key_dim))
        rows[:, case.latent_dim :] *= 5  # the parts need not be of one size
        cache.write(slot, rows.astype(np.float16))
    shape = (len(case.positions), case.num_heads, case.variant.key_dim)
    queries = (0.3 * rng.standard_normal(shape)).astype(np.float16)
    found, wanted = attend(case, cache, queries), expected(case, cache, queries)
    assert np.linalg.norm(found - wanted) / np.linalg.norm(wanted) <= 1e-3
    for schedule in (Schedule.REVERSE, Schedule.GREEDY, Schedule.GREEDY_REVERSE, Schedule.RANDOM):
        again = attend(case, cache, queries, schedule=schedule, reverse_blocks=True)
        assert np.array_equal(again, found)


@pytest.mark.parametrize("is_sick", [False, True], ids=["", "not a number"])
@pytest.mark.parametrize("has_rope", [True, False])
@pytest.mark.parametrize("int8_kv", [False, True])
def test_a_latent_row_is_normed_turned_and_stored(
    has_rope: bool, int8_kv: bool, is_sick: bool
) -> None:
    """A number that is none shows in its own row, also where codes cannot hold it."""
    case = Case(latent_dim=96, rope_dim=24, positions=(700, 3), int8_kv=int8_kv)
    rng, cache = np.random.default_rng(3), Cache(case)
    stride, head_dim, heads = case.variant.key_dim + 5, 32, case.num_heads
    latent = (2 * rng.standard_normal((2, stride))).astype(np.float32)
    if is_sick:
        latent[0, 5] = latent[0, 96 + 23] = np.nan
    q = rng.standard_normal((2, heads, head_dim)).astype(np.float16)
    queries = np.full((2, heads, case.variant.key_dim), 9, np.float16)
    weight = (1 + 0.1 * rng.standard_normal(96)).astype(np.float32)
    inv_freq = (1000.0 ** -(np.arange(0, 24, 2) / 24)).astype(np.float32)
    fields = {
        "latent": latent,
        "q": q,
        "queries": queries,
        "norm_weight": weight,
        "slots": np.arange(2, dtype=np.int32),
        "positions": np.array(case.positions, np.int32),
        "latent_stride": stride,
        "num_heads": heads,
        "q_head_dim": head_dim,
        "eps": 1e-6,
        "cos_sin_factor": 1.2,
        **({"inv_freq": inv_freq} if has_rope else {}),
        **cache.fields,
    }
    module_of(case.variant.rope_source).launch_struct(
        "rotate_and_store_latent", (2, heads + 1), (LATENT_ROPE_THREADS,), LATENT_ARGS, fields
    )
    for row, position in enumerate(case.positions):
        angles = position * inv_freq.astype(np.float64) if has_rope else np.zeros(0)
        columns = latent[row].astype(np.float64)
        vector, turning = columns[:96], columns[96:120]
        normed = vector / np.sqrt((vector**2).mean() + 1e-6) * weight
        wanted = np.hstack([normed, rotate(turning[None], angles, 1.2)[0]])
        stored = cache.read(row, position + 1)[position]
        if is_sick and row == 0:
            assert np.isnan(stored[:96]).all()
            assert np.isnan(stored[96:]).any()
            continue
        assert np.allclose(stored, wanted, atol=4e-2 if int8_kv else 4e-3, rtol=2e-3)
        turned = rotate(q[row, :, 8:].astype(np.float64), angles, 1.2)
        assert np.allclose(queries[row, :, 96:], turned, atol=4e-3, rtol=2e-3)
        assert (queries[row, :, :96] == 9).all()
