"""Value heads of a gated delta net as llama.cpp stores Qwen3.5's: tiled, not by key head.

Of key heads A and B with three value heads each the model means A A A B B B, the file A B A B A B
(ggml-org/llama.cpp:conversion/qwen.py, _reorder_v_heads): in the rows of whatever makes or gates
values, and in the columns of what reads them.
"""

from __future__ import annotations

import numpy as np

from app.converter.sources.taken_rows import Rows
from app.spec.delta_net_spec import DeltaNetSpec

_PER_HEAD = ("in_proj_b", "in_proj_a", "A_log", "dt_bias")
_MIXED = ("in_proj_qkv", "conv1d")


def tiled_rows(spec: DeltaNetSpec, canonical: str) -> Rows | None:
    """The place in the file of each row of a linear or vector; None for those that are in order."""
    short = canonical.rpartition(".")[2]
    if ".linear_attn." not in canonical:
        return None
    if short in _PER_HEAD:
        return _places(spec, 1)
    if short == "in_proj_z":
        return _places(spec, spec.linear_value_head_dim)
    if short in _MIXED:
        before = 2 * spec.key_size
        values = before + _places(spec, spec.linear_value_head_dim)
        return np.concatenate((np.arange(before), values))
    return None


def tiled_columns(spec: DeltaNetSpec, canonical: str) -> Rows | None:
    """The place in the file of each column of `out_proj`; None for other linears."""
    if not canonical.endswith(".linear_attn.out_proj"):
        return None
    return _places(spec, spec.linear_value_head_dim)


def _places(spec: DeltaNetSpec, width: int) -> Rows:
    """Of heads [key heads, value heads of each] the file has the transpose."""
    num_keys = spec.linear_num_key_heads
    heads = np.arange(spec.linear_num_value_heads).reshape(-1, num_keys).T.reshape(-1, 1)
    return (heads * width + np.arange(width)).reshape(-1)
