"""Arguments and launches of rope.cu and attention.cu, as data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernels.cuda.build import ModuleSource

PAGE_POSITIONS = 256
ATTENTION_THREADS = 128
ROPE_THREADS = 32
CHUNK_QUERIES = 64  # of a block of `attend_chunk`
MAX_QUERIES = 8  # heads of one block that share a key/value head
_MIN_SPLIT_KEYS, _MAX_SPLIT_KEYS = 64, 256

# KvCache of cache.cuh.
KV_CACHE = np.dtype(
    [
        *((name, np.uintp) for name in ("keys", "values", "key_scales", "value_scales", "pages")),
        *((name, np.int32) for name in ("max_pages", "num_kv_heads")),
    ],
    align=True,
)

# HeadArgs of heads.cuh.
HEAD_ARGS = np.dtype(
    [
        *((name, np.uintp) for name in ("qkv", "q_norm", "k_norm", "inv_freq")),
        *((name, np.int32) for name in (
            "num_heads", "num_kv_heads", "rotary_dim", "is_projection_norm",
        )),
        *((name, np.float32) for name in (
            "eps", "cos_sin_factor", "query_scaling_beta", "query_scaling_length",
        )),
    ],
    align=True,
)  # fmt: skip

# RopeArgs of rope.cu.
ROPE_ARGS = np.dtype(
    [
        ("heads", HEAD_ARGS),
        *((name, np.uintp) for name in ("queries", "slots", "positions")),
        ("cache", KV_CACHE),
    ],
    align=True,
)

# AttentionArgs of splits.cuh.
ATTENTION_ARGS = np.dtype(
    [
        *((name, np.uintp) for name in (
            "queries", "out", "sinks", "partial", "arrived", "slots", "positions",
        )),
        ("cache", KV_CACHE),
        *((name, np.int32) for name in ("num_heads", "window", "split_keys", "max_splits")),
        *((name, np.float32) for name in ("scale", "softcap")),
    ],
    align=True,
)  # fmt: skip

# DecodeArgs of attention.cu.
DECODE_ARGS = np.dtype(
    [("attention", ATTENTION_ARGS), ("heads", HEAD_ARGS), ("num_rows", np.int32)], align=True
)

# ChunkAttentionArgs of prefill_attention.cu.
CHUNK_ATTENTION_ARGS = np.dtype(
    [
        *((name, np.uintp) for name in ("queries", "out", "sinks", "slots", "positions")),
        ("cache", KV_CACHE),
        *((name, np.int32) for name in ("num_rows", "num_heads", "window")),
        *((name, np.float32) for name in ("scale", "softcap")),
    ],
    align=True,
)


@dataclass(frozen=True, slots=True)
class AttentionVariant:
    """One compiled form of rope.cu and of attention.cu."""

    head_dim: int
    int8_kv: bool = False

    @property
    def rope_source(self) -> ModuleSource:
        """Kernel `rotate_and_store`."""
        return ModuleSource("rope.cu", self._macros)

    @property
    def attention_source(self) -> ModuleSource:
        """Kernel `attend`, of DecodeArgs."""
        return ModuleSource("attention.cu", self._macros)

    @property
    def chunk_source(self) -> ModuleSource:
        """Kernel `attend_chunk`."""
        macros = (*self._macros, ("SHARED_BYTES", str(self.chunk_shared_bytes)))
        return ModuleSource("prefill_attention.cu", macros)

    @property
    def chunk_shared_bytes(self) -> int:
        """Dynamic shared memory of `attend_chunk`: queries, a tile of keys and one of values."""
        stride = -(-self.head_dim // 16) * 16 + 8
        tile_keys = 32 if self.head_dim > 96 else 64
        return 2 * stride * CHUNK_QUERIES + 2 * tile_keys * (2 * stride + 4)

    @property
    def _macros(self) -> tuple[tuple[str, str], ...]:
        return ("HEAD_DIM", str(self.head_dim)), ("INT8_KV", str(int(self.int8_kv)))


def blocks_per_kv_head(num_heads: int, num_kv_heads: int) -> int:
    """Blocks that the queries of one key/value head take."""
    return -(-(num_heads // num_kv_heads) // MAX_QUERIES)


def choose_split_keys(context: int, num_kv_blocks: int, num_multiprocessors: int) -> int:
    """Keys of a split, so that two blocks a multiprocessor work at this context; 64 to 256."""
    wanted = context * num_kv_blocks // (2 * num_multiprocessors)
    rounded = -(-wanted // _MIN_SPLIT_KEYS) * _MIN_SPLIT_KEYS
    return max(_MIN_SPLIT_KEYS, min(_MAX_SPLIT_KEYS, rounded))
