"""Everything on the device that is not a weight: the step's inputs, activations, KV cache."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.engine.executors.base import PREFILL_CHUNK_TOKENS
from app.engine.executors.block_tables import pages_for
from app.engine.executors.cuda.delta_plan import DeltaBuffers
from app.engine.executors.cuda.expert_plan import ExpertBuffers
from app.engine.executors.cuda.latent_plan import LatentBuffers
from app.engine.executors.cuda.launcher import Allocator, Buffer, fill
from app.engine.executors.cuda.parts import Striped
from app.engine.executors.cuda.step_state import StepState
from app.spec.model_spec import ModelSpec
from app.spec.rope import RopeSpec
from kernels.cuda.attention import KV_CACHE, MAX_QUERIES, PAGE_POSITIONS
from kernels.cuda.gemm import LEAST_SUM_COLUMNS, padded_stride, padded_tokens
from kernels.cuda.gemv import MAX_TOKENS
from kernels.cuda.pack import padded_columns
from kernels.cuda.sampling import HISTOGRAM_BINS, SELECTION, num_chunks

_MIN_SPLIT_KEYS = 64
_WIDEST_UNIT_BITS = 3  # whose columns are padded most


@dataclass(frozen=True, slots=True)
class CachedPosition:
    """What a layer keeps of a position: for each head a key and a value, or one latent vector.

    Latent attention's row is its vector and the rotary columns that all heads share.
    """

    num_heads: int
    num_columns: int

    def num_bytes(self, is_int8: bool) -> int:
        """With int8, one half scale for each of two parts of a head's columns."""
        per_head = self.num_columns + 4 if is_int8 else 2 * self.num_columns
        return self.num_heads * per_head


def cached_position(spec: ModelSpec) -> CachedPosition:
    """Of each layer of a spec."""
    if spec.mla is not None:
        return CachedPosition(1, spec.mla.kv_lora_rank + spec.mla.qk_rope_head_dim)
    return CachedPosition(spec.num_key_value_heads, 2 * spec.head_dim)


@dataclass(frozen=True, slots=True)
class KvLayout:
    """A pool of pages and a table of them per slot; `num_pages` None: as many as all slots need."""

    num_slots: int
    max_model_len: int
    is_int8: bool
    num_pages: int | None = None

    @property
    def max_pages(self) -> int:
        """Pages that a slot may have."""
        return pages_for(self.max_model_len)

    @property
    def num_positions(self) -> int:
        """Of all pages."""
        num_pages = self.num_pages
        return PAGE_POSITIONS * (
            self.num_slots * self.max_pages if num_pages is None else num_pages
        )


class SamplingBuffers:
    """What sampling.cu works in; zeros between its launches where they must be."""

    def __init__(self, allocator: Allocator, vocab_size: int) -> None:
        self.num_chunks = num_chunks(vocab_size)
        self.selections = allocator.allocate(MAX_TOKENS * SELECTION.itemsize)
        self.histograms = allocator.allocate(8 * MAX_TOKENS * HISTOGRAM_BINS)
        self.chunk_weights = allocator.allocate(8 * MAX_TOKENS * self.num_chunks)
        self.chunk_ties = allocator.allocate(4 * MAX_TOKENS * self.num_chunks)


class DeviceBuffers:
    """Allocated once; their addresses are in the graphs.

    Activations have room for a chunk, what belongs to logits and to splits for a step's rows.
    """

    def __init__(self, allocator: Allocator, spec: ModelSpec, kv: KvLayout) -> None:
        self._allocator, self._spec, self.kv = allocator, spec, kv
        rows, few_rows, halfs, floats = padded_tokens(PREFILL_CHUNK_TOKENS), MAX_TOKENS, 2, 4
        shared_size = spec.moe.shared_intermediate_size if spec.moe else 0
        widest = max(spec.intermediate_size, spec.hidden_size, shared_size)
        self.token_ids, self.slots, self.positions = (self._allocate(rows, 4) for _ in range(3))
        self.hidden = self._allocate(rows * spec.hidden_size, floats)
        self.branch = self._allocate(rows * spec.hidden_size, floats)
        delta_size = spec.delta_net.value_size if spec.delta_net else 0
        mixed_size = max(spec.num_attention_heads * spec.value_head_dim, delta_size)
        self.mixed = self._allocate(rows * mixed_size, halfs)
        # Latent attention has buffers of its own instead.
        heads_rows, few_heads_rows = (0, 0) if spec.mla else (rows, few_rows)
        self.latent = LatentBuffers(allocator, spec, spec.mla, rows) if spec.mla else None
        self.qkv = self._allocate(heads_rows * (spec.q_size + 2 * spec.kv_size), halfs)
        self.queries = self._allocate(heads_rows * spec.q_size, halfs)
        self.inner = self._allocate(rows * widest, halfs)
        self.other = self._allocate(rows * widest, halfs)
        low_rank = (spec.mla.q_lora_rank or 0) if spec.mla else 0
        columns = padded_stride(max(widest, mixed_size, low_rank))
        self.arranged = self._allocate(rows * columns, halfs)
        self.sums = self._allocate(rows * _most_sums(columns), floats)
        self.logits = self._allocate(few_rows * spec.vocab_size, floats)
        self.block_max = self._allocate(few_rows * -(-spec.vocab_size // 16), floats)
        self.block_argmax = self._allocate(few_rows * -(-spec.vocab_size // 16), 4)
        self.sampling = SamplingBuffers(allocator, spec.vocab_size)
        self.state = StepState(allocator, spec.vocab_size, kv.num_slots)
        self.experts = None
        if spec.moe is not None:
            self.experts = ExpertBuffers(allocator, spec.hidden_size, spec.moe, rows)
        self.max_splits = -(-kv.max_model_len // _MIN_SPLIT_KEYS)
        partial = spec.num_attention_heads * self.max_splits * (spec.head_dim + 2)
        self.partial = self._allocate(few_heads_rows * partial, floats)
        heads = spec.num_key_value_heads * math.ceil(spec.num_queries_per_kv / MAX_QUERIES)
        self.arrived = self._allocate(few_rows * heads, 4)
        self.inv_freq = self._create_frequencies()
        self._tables = self._allocate(kv.num_slots * kv.max_pages, 4)
        self.page_parts: list[Striped] = []  # what all layers keep of each page
        layers = range(spec.num_hidden_layers)
        self._caches = {i: self._create_cache() for i in layers if not spec.is_linear(i)}
        self.delta = None
        if spec.delta_net is not None:
            self.delta = DeltaBuffers(allocator, spec, spec.delta_net, kv.num_slots, rows)

    def for_decoding(self) -> DeviceBuffers:
        """The same, but the rows that run are those of `state`, which the device advances."""
        buffers, state = copy.copy(self), self.state
        buffers.token_ids, buffers.slots = state.token_ids, state.slots
        buffers.positions = state.positions
        return buffers

    @property
    def kv_bytes(self) -> int:
        """Bytes of the cache, and of what linear layers know of each slot."""
        spec, kv = self._spec, self.kv
        per_position = spec.num_cached_layers * cached_position(spec).num_bytes(kv.is_int8)
        return kv.num_positions * per_position + kv.num_slots * spec.state_bytes

    @property
    def slot_parts(self) -> list[Striped]:
        """What all linear layers know of each slot."""
        return list(self.delta.iter_slot_parts()) if self.delta else []

    def upload_row(self, slot: int, pages: Sequence[int]) -> None:
        """The slot's row of the table of pages; what it lacks is never looked at."""
        max_pages = self.kv.max_pages
        row = np.zeros(max_pages, np.int32)
        row[: len(pages)] = pages
        self._allocator.upload(row, self._tables.skip(4 * slot * max_pages))

    def cache(self, layer: int) -> npt.NDArray[np.void]:
        """KvCache of a layer that is not linear."""
        return self._caches[layer]

    def _allocate(self, count: int, element_bytes: int) -> Buffer:
        return self._allocator.allocate(count * element_bytes)

    def _create_cache(self) -> npt.NDArray[np.void]:
        """Of latent attention keys alone, which hold both parts."""
        position, kv = cached_position(self._spec), self.kv
        rows, is_latent = kv.num_positions * position.num_heads, self._spec.mla is not None
        size = rows * position.num_columns * (1 if kv.is_int8 else 2)
        keys = self._allocate_paged(size if is_latent else size // 2)
        scales = [self._allocate_paged(2 * rows) for _ in range(2)] if kv.is_int8 else [0, 0]
        return fill(
            KV_CACHE,
            keys=keys,
            values=0 if is_latent else self._allocate_paged(size // 2),
            key_scales=scales[0],
            value_scales=scales[1],
            pages=self._tables,
            max_pages=kv.max_pages,
            num_kv_heads=position.num_heads,
        )

    def _allocate_paged(self, num_bytes: int) -> Buffer:
        """One of the buffers in which pages have a part."""
        buffer = self._allocator.allocate(num_bytes)
        num_pages = self.kv.num_positions // PAGE_POSITIONS
        self.page_parts.append(Striped(buffer, num_bytes // num_pages))
        return buffer

    def _create_frequencies(self) -> dict[RopeSpec, Buffer]:
        spec = self._spec
        ropes = {spec.layer_rope(index) for index in range(spec.num_hidden_layers)} - {None}
        return {
            rope: self._allocator.upload_new(rope.inverse_frequencies(self.kv.max_model_len))
            for rope in ropes
            if rope is not None
        }


def _most_sums(num_columns: int) -> int:
    """Of a row of activations, for the matrix that needs most of them."""
    return padded_columns(num_columns, _WIDEST_UNIT_BITS) // LEAST_SUM_COLUMNS
