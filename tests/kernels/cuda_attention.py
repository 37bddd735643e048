"""Caches of attention tests: pages, int8 or halfs, and what attention over them is in float64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kernels.cuda.attention import PAGE_POSITIONS, AttentionVariant

Floats = npt.NDArray[np.float64]
Halfs = npt.NDArray[np.float16]


@dataclass(frozen=True)
class Case:
    """Sizes and options of one attention block; positions are those of the rows, a slot each, or
    of a chunk's rows, all in slot 0."""

    head_dim: int = 64
    num_heads: int = 4
    num_kv_heads: int = 2
    positions: tuple[int, ...] = (37,)
    window: int = 0
    softcap: float = 0.0
    has_sinks: bool = False
    int8_kv: bool = False
    split_keys: int = 64
    is_chunk: bool = False

    @property
    def variant(self) -> AttentionVariant:
        return AttentionVariant(self.head_dim, self.int8_kv)

    @property
    def slots(self) -> npt.NDArray[np.int32]:
        """Of the rows."""
        count = len(self.positions)
        return np.zeros(count, np.int32) if self.is_chunk else np.arange(count, dtype=np.int32)

    @property
    def max_pages(self) -> int:
        return -(-(max(self.positions) + 1) // PAGE_POSITIONS)


class Cache:
    """Arrays of a KV cache; what was never written holds NaN, which must not be seen."""

    def __init__(self, case: Case, seed: int = 0) -> None:
        self.case, rng = case, np.random.default_rng(seed)
        slots = 1 + int(case.slots[-1])
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

    def fill(self, seed: int = 1, before_rows: bool = False) -> None:
        """Random keys and values up to the last position of every slot, or before its first."""
        rng = np.random.default_rng(seed)
        for slot in sorted(set(self.case.slots.tolist())):
            positions = [
                self.case.positions[row] for row in np.flatnonzero(self.case.slots == slot)
            ]
            length = min(positions) if before_rows else max(positions) + 1
            shape = (length, self.case.num_kv_heads, self.case.head_dim)
            self.write(slot, random_halfs(rng, *shape), random_halfs(rng, *shape))


def quantize(rows: Halfs) -> tuple[npt.NDArray[np.int8], Halfs]:
    """[heads, head_dim] -> codes and one scale a head."""
    scales = (np.abs(rows).max(-1).astype(np.float32) / 127).astype(np.float16)
    codes = np.rint(rows.astype(np.float32) / scales.astype(np.float32)[:, None])
    return np.clip(codes, -127, 127).astype(np.int8), scales


def random_halfs(rng: np.random.Generator, *shape: int) -> Halfs:
    return rng.standard_normal(shape).astype(np.float16)


def expected(case: Case, cache: Cache, queries: Halfs, sinks: Any) -> Floats:
    result = np.zeros(queries.shape)
    shared_by = case.num_heads // case.num_kv_heads
    for row, position in enumerate(case.positions):
        keys, values = cache.read(int(case.slots[row]), position + 1)
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
