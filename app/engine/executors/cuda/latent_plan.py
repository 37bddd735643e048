"""The launches of latent attention, from the residual to what o_proj reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from app.engine.executors.cuda.expert_plan import multiply_stack
from app.engine.executors.cuda.latent_weights import DeviceLatent
from app.engine.executors.cuda.launcher import Allocator, Buffer, Launch, fill
from app.engine.executors.cuda.stacks import DeviceStack
from app.spec.mla_spec import MlaSpec
from app.spec.model_spec import ModelSpec
from app.spec.rope import RopeSpec
from kernels.cuda.attention import ATTENTION_ARGS, MAX_QUERIES
from kernels.cuda.gemv import MAX_TOKENS, Epilogue, Input
from kernels.cuda.latent import (
    LATENT_ARGS,
    LATENT_ATTENTION_THREADS,
    LATENT_ROPE_THREADS,
    LatentVariant,
)

Multiply = Callable[..., Iterator[Launch]]
_HALF_BYTES, _FLOAT_BYTES, _INT_BYTES = 2, 4, 4
_SPLIT_STEP = 64  # keys that a block takes at once
_BLOCKS_PER_MULTIPROCESSOR = 4


class LatentBuffers:
    """What latent attention works in: `num_rows` up to the projections, then eight at a time."""

    def __init__(self, allocator: Allocator, spec: ModelSpec, mla: MlaSpec, num_rows: int) -> None:
        heads, key_dim = spec.num_attention_heads, mla.kv_lora_rank + mla.qk_rope_head_dim
        self.low = allocator.allocate(num_rows * (mla.q_lora_rank or 0) * _FLOAT_BYTES)
        self.latent = allocator.allocate(num_rows * key_dim * _FLOAT_BYTES)
        self.q = allocator.allocate(num_rows * spec.q_size * _HALF_BYTES)
        self.queries = allocator.allocate(MAX_TOKENS * heads * key_dim * _HALF_BYTES)
        self.mixed = allocator.allocate(MAX_TOKENS * heads * mla.kv_lora_rank * _HALF_BYTES)
        blocks = -(-heads // MAX_QUERIES)
        self.wanted_blocks = _BLOCKS_PER_MULTIPROCESSOR * allocator.num_multiprocessors
        # Splits of a head's block are at most as many as make `wanted_blocks`, and one more.
        partial = (self.wanted_blocks + MAX_TOKENS * blocks) * MAX_QUERIES
        self.partial = allocator.allocate(partial * (mla.kv_lora_rank + 2) * _FLOAT_BYTES)
        self.arrived = allocator.allocate(MAX_TOKENS * blocks * _INT_BYTES)
        pairs = np.arange(heads, dtype=np.int32)[:, None] + heads * np.arange(MAX_TOKENS)
        self.head_numbers = allocator.upload_new(np.arange(heads, dtype=np.int32))
        self.head_pairs = allocator.upload_new(pairs.astype(np.int32))


@dataclass(frozen=True, slots=True)
class LatentRows:
    """The rows that run, and where their attention goes: half [rows, heads * v_head_dim]."""

    slots: Buffer
    positions: Buffer
    mixed: Buffer
    num_rows: int
    context: int

    def skip(self, num_rows: int, value_size: int) -> LatentRows:
        """At most eight, behind the first ones."""
        return LatentRows(
            self.slots.skip(num_rows * _INT_BYTES),
            self.positions.skip(num_rows * _INT_BYTES),
            self.mixed.skip(num_rows * value_size * _HALF_BYTES),
            min(MAX_TOKENS, self.num_rows - num_rows),
            self.context,
        )


class LatentPlanner:
    """Writes the launches; `multiply` is that of the step's `Products`."""

    def __init__(
        self,
        spec: ModelSpec,
        mla: MlaSpec,
        buffers: LatentBuffers,
        inv_freq: dict[RopeSpec, Buffer],
        multiply: Multiply,
        int8_kv: bool,
    ) -> None:
        self._spec, self._mla, self._buffers = spec, mla, buffers
        self._inv_freq, self._multiply = inv_freq, multiply
        self._variant = LatentVariant(mla.kv_lora_rank, mla.qk_rope_head_dim, int8_kv)

    def run(
        self,
        index: int,
        latent: DeviceLatent,
        source: dict[str, Any],
        cache: npt.NDArray[np.void],
        rows: LatentRows,
    ) -> Iterator[Launch]:
        """Of layer `index`; `source`: the GemvArgs by which products read the residual."""
        yield from self._project(latent, source, rows.num_rows)
        value_size = self._spec.num_attention_heads * self._mla.v_head_dim
        for first in range(0, rows.num_rows, MAX_TOKENS):
            some = rows.skip(first, value_size)
            q = self._buffers.q.skip(first * self._spec.q_size * _HALF_BYTES)
            yield self._rotate(index, latent, cache, some, first)
            yield self._absorb(latent.absorb, q, some.num_rows)
            yield self._attend(index, cache, some)
            yield self._expand(latent.expand, some)

    def _project(
        self, latent: DeviceLatent, source: dict[str, Any], num_rows: int
    ) -> Iterator[Launch]:
        buffers, floats = self._buffers, {"epilogue": Epilogue.STORE_FLOAT}
        if latent.q_down is not None:
            down = latent.q_down
            yield from self._multiply(down, num_rows, **source, out=buffers.low, **floats)
        fields = source | {"out": buffers.latent} | floats
        yield from self._multiply(latent.kv_down, num_rows, **fields)
        if latent.q_down is not None:
            assert latent.q_norm is not None
            source = {
                "x": buffers.low,
                "input": Input.RMS_NORM,
                "norm_weight": latent.q_norm,
                "eps": self._mla.norm_eps,
            }
        yield from self._multiply(latent.q_up, num_rows, **source, out=buffers.q)

    def _rotate(
        self,
        index: int,
        latent: DeviceLatent,
        cache: npt.NDArray[np.void],
        rows: LatentRows,
        first: int,
    ) -> Launch:
        spec, buffers, variant = self._spec, self._buffers, self._variant
        rope = spec.layer_rope(index)
        argument = fill(
            LATENT_ARGS,
            latent=buffers.latent.skip(first * variant.key_dim * _FLOAT_BYTES),
            q=buffers.q.skip(first * spec.q_size * _HALF_BYTES),
            queries=buffers.queries,
            norm_weight=latent.kv_norm,
            inv_freq=self._inv_freq[rope] if rope else 0,
            slots=rows.slots,
            positions=rows.positions,
            cache=cache,
            latent_stride=variant.key_dim,
            num_heads=spec.num_attention_heads,
            q_head_dim=spec.head_dim,
            eps=self._mla.norm_eps,
            cos_sin_factor=rope.cos_sin_factor if rope else 1.0,
        )
        grid = (rows.num_rows, spec.num_attention_heads + 1)
        kernel, threads = "rotate_and_store_latent", (LATENT_ROPE_THREADS,)
        return Launch(variant.rope_source, kernel, grid, threads, argument)

    def _absorb(self, stack: DeviceStack, q: Buffer, num_rows: int) -> Launch:
        """The unrotated columns of queries -> the first columns of `queries`."""
        fields = {"x": q, "x_stride": self._spec.head_dim, "out": self._buffers.queries}
        return self._per_head(stack, num_rows, **fields, out_stride=self._variant.key_dim)

    def _expand(self, stack: DeviceStack, rows: LatentRows) -> Launch:
        fields = {"x": self._buffers.mixed, "out": rows.mixed}
        return self._per_head(stack, rows.num_rows, **fields)

    def _per_head(self, stack: DeviceStack, num_rows: int, **fields: Any) -> Launch:
        """Rows of x and of the result are pairs of row and head."""
        visits = {
            "visit_matrices": self._buffers.head_numbers,
            "visit_pairs": self._buffers.head_pairs,
            "pairs_per_row": 1,
        }
        return multiply_stack(stack, num_rows, self._spec.num_attention_heads, **visits, **fields)

    def _attend(self, index: int, cache: npt.NDArray[np.void], rows: LatentRows) -> Launch:
        spec, buffers = self._spec, self._buffers
        blocks = -(-spec.num_attention_heads // MAX_QUERIES)
        num_splits = -(-buffers.wanted_blocks // (blocks * rows.num_rows))
        split_keys = -(-rows.context // (num_splits * _SPLIT_STEP)) * _SPLIT_STEP
        argument = fill(
            ATTENTION_ARGS,
            queries=buffers.queries,
            out=buffers.mixed,
            partial=buffers.partial,
            arrived=buffers.arrived,
            slots=rows.slots,
            positions=rows.positions,
            cache=cache,
            num_heads=spec.num_attention_heads,
            window=spec.layer_window(index) or 0,
            split_keys=split_keys,
            max_splits=num_splits,
            scale=spec.attention_multiplier,
            softcap=spec.attn_logit_softcapping or 0.0,
        )
        grid = (blocks, -(-rows.context // split_keys), rows.num_rows)
        threads = (LATENT_ATTENTION_THREADS,)
        return Launch(self._variant.attention_source, "attend_latent", grid, threads, argument)
