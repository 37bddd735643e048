"""Stacks that go by group of heads: every member's rows of the first group, then of the second ...

InternLM2's q, k and v by key/value head; the queries of Qwen3-Next and Qwen3.5 with the gates of
their heads; and what enters Qwen3-Next's gated delta net, by key head (transformers:
modeling_qwen3_next.py, fix_query_key_value_ordering).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.converter.sources.taken_rows import Rows
from app.spec.model_spec import ModelSpec
from app.spec.weights import layer_linears


def grouped_rows(spec: ModelSpec, members: Sequence[str], canonical: str) -> Rows:
    """Where the rows of `canonical`, one of the `members` of a layer's stack, stand in it."""
    num_groups = _num_groups(spec, members)
    parts = [(member, rows) for member in members for rows in _part_rows(spec, member)]
    widths = [rows // num_groups for _, rows in parts]
    starts = np.cumsum([0, *widths])
    groups = np.arange(num_groups)[:, None] * starts[-1]
    found = [
        (groups + start + np.arange(width)).reshape(-1)
        for (member, _), start, width in zip(parts, starts, widths, strict=False)
        if member == canonical
    ]
    return np.concatenate(found)


def _num_groups(spec: ModelSpec, members: Sequence[str]) -> int:
    if ".linear_attn." in members[0]:
        assert spec.delta_net is not None
        return spec.delta_net.linear_num_key_heads
    is_gated = any(member.endswith(".output_gate") for member in members)
    return spec.num_attention_heads if is_gated else spec.num_key_value_heads


def _part_rows(spec: ModelSpec, member: str) -> list[int]:
    """Rows of what each group has its share of: a linear, or the three that one holds."""
    _, index, name = member.split(".", 2)
    if name == "linear_attn.in_proj_qkv":
        assert spec.delta_net is not None
        delta = spec.delta_net
        return [delta.key_size, delta.key_size, delta.value_size]
    return [layer_linears(spec, int(index))[name][0]]
