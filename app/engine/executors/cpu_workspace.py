"""What the cpu executor holds besides weights and cache, from the spec alone.

These are the buffers of `kernels/cpu/src`, block by block, absent ones with the little that they
take; a test holds the sum to what the library counts. Left out are what grows with the context, by
less than a tenth of what the cache grows by, and the rows in stored order of permuted columns.
"""

from __future__ import annotations

from app.spec.mla_spec import MlaSpec
from app.spec.model_spec import ModelSpec
from app.spec.moe_spec import MoeSpec

MAX_PASS_TOKENS = 128  # of a step; longer ones run in pieces
_FLOAT = 4
_VECTOR = 16  # columns that the kernels take at once
_STEP = 32  # columns of weights are padded to whole steps


def workspace_bytes(spec: ModelSpec) -> int:
    """Activations of one piece of a prompt, and one row of logits."""
    widths = [*_stream_widths(spec), *_attention_widths(spec), *_delta_widths(spec)]
    blocks = sum(_buffer_bytes(width) for width in widths)
    blocks += _latent_bytes(spec.mla, spec.num_attention_heads)
    blocks += _expert_bytes(spec.moe, spec.hidden_size)
    return blocks + _rotation_bytes(spec) + _FLOAT * spec.vocab_size


def whole_vectors(width: int) -> int:
    """`width` as the rows of the cache are padded."""
    return -(-width // _VECTOR) * _VECTOR


def _buffer_bytes(width: int, rows: int = MAX_PASS_TOKENS) -> int:
    """`Activations`: float32, int8 codes, and four float32 numbers per step of columns.

    A row is an odd number of cache lines.
    """
    columns = rows * (-(-width // 64) * 64 | 64)
    return columns * (_FLOAT + 1) + columns // _STEP * 4 * _FLOAT


def _stream_widths(spec: ModelSpec) -> list[int]:
    """The residual stream three times, and the two sides of a dense MLP."""
    is_dense = spec.moe is None or not all(spec.moe.sparse_layers)
    return 3 * [spec.hidden_size] + 2 * [spec.intermediate_size if is_dense else 0]


def _attention_widths(spec: ModelSpec) -> list[int]:
    """Queries, keys, values, what is mixed of them, and its gate."""
    values = spec.num_attention_heads * spec.value_head_dim
    keys = 0 if spec.mla else spec.kv_size
    return [spec.q_size, keys, keys, values, values if spec.attention_output_gate else 0]


def _delta_widths(spec: ModelSpec) -> list[int]:
    delta = spec.delta_net
    if delta is None:
        return 5 * [0]
    heads = delta.linear_num_value_heads
    return [delta.num_channels, delta.value_size, heads, heads, delta.value_size]


def _latent_bytes(mla: MlaSpec | None, num_heads: int) -> int:
    if mla is None:
        return 6 * _buffer_bytes(0)
    rank, rope = mla.kv_lora_rank, mla.qk_rope_head_dim
    query = whole_vectors(rank) + whole_vectors(rope)
    per_head = (-(-rank // _STEP) * _STEP, query, rank)
    widths = [mla.q_lora_rank or 0, rank + rope, rank, *(num_heads * width for width in per_head)]
    of_heads = (rank, mla.v_head_dim + 2 * _VECTOR)
    return sum(_buffer_bytes(width) for width in widths) + sum(
        _buffer_bytes(width, MAX_PASS_TOKENS * num_heads) for width in of_heads
    )


def _expert_bytes(moe: MoeSpec | None, hidden_size: int) -> int:
    if moe is None:
        return 5 * _buffer_bytes(0)
    places = MAX_PASS_TOKENS * moe.num_experts_per_tok
    shared = moe.shared_intermediate_size
    of_rows = [moe.num_experts, moe.num_experts, shared, shared, hidden_size if shared else 0]
    of_places = [hidden_size, hidden_size, *(3 * [moe.moe_intermediate_size])]
    outputs = _FLOAT * places * (-(-hidden_size // 64) * 64 | 64)
    return (
        outputs
        + sum(_buffer_bytes(width) for width in of_rows)
        + sum(_buffer_bytes(width, places) for width in of_places)
    )


def _rotation_bytes(spec: ModelSpec) -> int:
    """Cosines and sines of each different rope."""
    ropes = {spec.layer_rope(index) for index in range(spec.num_hidden_layers)} - {None}
    return sum(2 * _FLOAT * MAX_PASS_TOKENS * (rope.dim // 2) for rope in ropes if rope is not None)
