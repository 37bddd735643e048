"""The rows of projections that rotate, in the order in which executors rotate them."""

from __future__ import annotations

import numpy as np

from app.converter.sources.taken_rows import Rows
from app.spec.model_spec import ModelSpec


def rotary_order(spec: ModelSpec, canonical: str) -> Rows | None:
    """Where rotary pairs are neighbours: the place of each row of a linear in half-split order.

    None for linears that do not rotate. Of each head the first columns rotate, or in latent
    attention the last; all its heads share those of the keys.
    """
    short, mla = canonical.rpartition(".")[2], spec.mla
    if short == "kv_a_proj_with_mqa" and mla is not None:
        return _half_split(1, mla.kv_lora_rank, mla.qk_rope_head_dim, 0)
    still = 0 if mla is None else mla.qk_nope_head_dim
    rest = spec.head_dim - still - spec.rope.dim
    if short in ("q_proj", "q_b_proj"):
        return _half_split(spec.num_attention_heads, still, spec.rope.dim, rest)
    if short == "k_proj":
        return _half_split(spec.num_key_value_heads, still, spec.rope.dim, rest)
    return None


def _half_split(num_heads: int, before: int, rotary_dim: int, after: int) -> Rows:
    """Of each head's rotating rows, pair i is (2i, 2i + 1) in the source.

    In half-split order it is (i, i + rotary_dim / 2). The rows around them keep their places.
    """
    size = before + rotary_dim + after
    head = np.arange(size)
    rotating = slice(before, before + rotary_dim)
    head[rotating] = head[rotating].reshape(-1, 2).T.reshape(-1)
    return (np.arange(num_heads)[:, None] * size + head).reshape(-1)
