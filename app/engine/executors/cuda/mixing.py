"""The launches between the q, k and v projections and o_proj: one of a step, two of a chunk."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy.typing as npt

from app.engine.executors.cuda.buffers import DeviceBuffers
from app.engine.executors.cuda.launcher import Launch, fill
from app.engine.executors.cuda.weights import DeviceLayer
from app.spec.model_spec import ModelSpec, QKNorm
from kernels.cuda.attention import (
    ATTENTION_ARGS,
    ATTENTION_THREADS,
    CHUNK_ATTENTION_ARGS,
    CHUNK_QUERIES,
    DECODE_ARGS,
    HEAD_ARGS,
    ROPE_ARGS,
    ROPE_THREADS,
    AttentionVariant,
    blocks_per_kv_head,
    choose_split_keys,
)


class Mixing(ABC):
    """From `qkv` to `mixed` of the buffers, by way of the cache."""

    def __init__(self, spec: ModelSpec, buffers: DeviceBuffers) -> None:
        self._spec, self._buffers = spec, buffers
        self._variant = AttentionVariant(spec.head_dim, buffers.kv.is_int8)

    @abstractmethod
    def mix(self, index: int, layer: DeviceLayer, num_rows: int, context: int) -> Iterator[Launch]:
        """Of layer `index`, for rows that see at most `context` keys."""

    def _heads(self, index: int, layer: DeviceLayer) -> npt.NDArray[Any]:
        """HEAD_ARGS: what becomes of the projections."""
        spec, buffers, rope = self._spec, self._buffers, self._spec.layer_rope(index)
        scaling = spec.query_scaling
        return fill(
            HEAD_ARGS,
            qkv=buffers.qkv,
            q_norm=layer.q_norm or 0,
            k_norm=layer.k_norm or 0,
            inv_freq=buffers.inv_freq[rope] if rope else 0,
            num_heads=spec.num_attention_heads,
            num_kv_heads=spec.num_key_value_heads,
            rotary_dim=rope.dim if rope else 0,
            is_projection_norm=spec.qk_norm is QKNorm.PROJECTION,
            eps=spec.rms_norm_eps,
            cos_sin_factor=rope.cos_sin_factor if rope else 1.0,
            query_scaling_beta=scaling.beta if scaling else 0.0,
            query_scaling_length=scaling.original_max_position_embeddings if scaling else 1.0,
        )

    def _fields(self, index: int, layer: DeviceLayer) -> dict[str, Any]:
        """What attention of single queries and of chunks both need."""
        spec, buffers = self._spec, self._buffers
        return {
            "out": buffers.mixed,
            "sinks": layer.sinks or 0,
            "slots": buffers.slots,
            "positions": buffers.positions,
            "cache": buffers.cache(index),
            "num_heads": spec.num_attention_heads,
            "window": spec.layer_window(index) or 0,
            "scale": spec.attention_multiplier,
            "softcap": spec.attn_logit_softcapping or 0.0,
        }


class SplitMixing(Mixing):
    """Of single queries: one launch, the cache's length split over blocks."""

    def __init__(self, spec: ModelSpec, buffers: DeviceBuffers, num_multiprocessors: int) -> None:
        super().__init__(spec, buffers)
        self._num_multiprocessors = num_multiprocessors

    def mix(self, index: int, layer: DeviceLayer, num_rows: int, context: int) -> Iterator[Launch]:
        """See `Mixing`."""
        spec, buffers = self._spec, self._buffers
        blocks = spec.num_key_value_heads * blocks_per_kv_head(
            spec.num_attention_heads, spec.num_key_value_heads
        )
        split_keys = choose_split_keys(context, blocks * num_rows, self._num_multiprocessors)
        attention = fill(
            ATTENTION_ARGS,
            **self._fields(index, layer),
            partial=buffers.partial,
            arrived=buffers.arrived,
            split_keys=split_keys,
            max_splits=buffers.max_splits,
        )
        heads = self._heads(index, layer)
        argument = fill(DECODE_ARGS, attention=attention, heads=heads, num_rows=num_rows)
        grid = (blocks, -(-context // split_keys), num_rows)
        source = self._variant.attention_source
        yield Launch(source, "attend", grid, (ATTENTION_THREADS,), argument)


class ChunkMixing(Mixing):
    """Of a chunk, whose rows are all of one sequence and see each other's keys."""

    def mix(self, index: int, layer: DeviceLayer, num_rows: int, context: int) -> Iterator[Launch]:
        """See `Mixing`."""
        yield self._rotate(index, layer, num_rows)
        yield self._attend(index, layer, num_rows)

    def _rotate(self, index: int, layer: DeviceLayer, num_rows: int) -> Launch:
        spec, buffers = self._spec, self._buffers
        argument = fill(
            ROPE_ARGS,
            heads=self._heads(index, layer),
            queries=buffers.queries,
            slots=buffers.slots,
            positions=buffers.positions,
            cache=buffers.cache(index),
        )
        grid = (num_rows, spec.num_attention_heads + 2 * spec.num_key_value_heads)
        source = self._variant.rope_source
        return Launch(source, "rotate_and_store", grid, (ROPE_THREADS,), argument)

    def _attend(self, index: int, layer: DeviceLayer, num_rows: int) -> Launch:
        fields = self._fields(index, layer) | {"queries": self._buffers.queries}
        argument = fill(CHUNK_ATTENTION_ARGS, **fields, num_rows=num_rows)
        return Launch(
            self._variant.chunk_source,
            "attend_chunk",
            (-(-num_rows // CHUNK_QUERIES), self._spec.num_attention_heads),
            (ATTENTION_THREADS,),
            argument,
            self._variant.chunk_shared_bytes,
        )
