"""kv_b_proj of latent attention, put together of what GGUF and MLX store apart and transposed.

Both fold the keys' half into the queries, and so store it per head as its transpose: `attn_k_b` or
`embed_q` [num_heads, kv_lora_rank, qk_nope_head_dim], `attn_v_b` or `unembed_out` [num_heads,
v_head_dim, kv_lora_rank] (ggml-org/llama.cpp:conversion/deepseek.py,
mlx-lm:mlx_lm/models/deepseek_v3.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from app.checkpoint.schemes import Linear
from app.converter.sources.base import SourceLinear
from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.linear_format import LinearPlace
from app.core.sentence import Sentence
from app.spec.model_spec import ModelSpec

Floats = npt.NDArray[np.float32]
Blocks = Iterator[tuple[slice, Floats]]


_KEYS, _VALUES = "embed_q", "unembed_out"
_HALF = re.compile(rf".+\.self_attn\.({_KEYS}|{_VALUES})\.\w+")


def flatten_halves(tensors: Mapping[str, StoredArray]) -> dict[str, StoredArray]:
    """All tensors by name, MLX's halves [num_heads, n, m] as the matrices [num_heads * n, m]."""
    return {name: _flatten(name, stored) for name, stored in tensors.items()}


def _flatten(name: str, stored: StoredArray) -> StoredArray:
    if len(stored.shape) != 3 or stored.strides is not None or not _HALF.fullmatch(name):
        return stored
    heads, rows, columns = stored.shape
    return replace(stored, shape=(heads * rows, columns))


def find_halves(
    spec: ModelSpec, name: str, stem: str, tensors: Mapping[str, StoredArray]
) -> tuple[LinearPlace, LinearPlace] | None:
    """Keys and values of the linear `name`; None where a folder does not store it apart."""
    block, _, last = stem.rpartition(".")
    if spec.mla is None or last != "kv_b_proj" or f"{block}.{_KEYS}.weight" not in tensors:
        return None
    mla, num_heads = spec.mla, spec.num_attention_heads
    keys = (num_heads * mla.kv_lora_rank, mla.qk_nope_head_dim)
    values = (num_heads * mla.v_head_dim, mla.kv_lora_rank)
    return (
        LinearPlace(name, f"{block}.{_KEYS}", keys),
        LinearPlace(name, f"{block}.{_VALUES}", values),
    )


def join_expansion(
    name: str, keys: SourceLinear, values: SourceLinear, num_heads: int
) -> SourceLinear:
    """The linear `name`: of each head the rows of its keys, then those of its values.

    `keys` is [num_heads * kv_lora_rank, qk_nope_head_dim], `values` [num_heads * v_head_dim,
    kv_lora_rank]. Blocks of quantized keys run across what become rows: no scheme holds them.
    """
    is_quantized = keys.is_quantized or values.is_quantized
    num_rows = num_heads * keys.shape[1] + values.shape[0]
    blocks = partial(_iter_heads, keys, values, num_heads)
    return SourceLinear(
        name=name,
        shape=(num_rows, values.shape[1]),
        source_name=Sentence(
            "{keys} and {values}", keys=keys.source_name, values=values.source_name
        ),
        source_type=_joint_type(keys, values, is_quantized=is_quantized),
        source_bytes=keys.source_bytes + values.source_bytes,
        is_quantized=is_quantized,
        native=None,
        load_native=_refuse_native,
        load_dense=lambda: np.concatenate([block for _, block in blocks()]),
        iter_dense=blocks,
    )


def _iter_heads(keys: SourceLinear, values: SourceLinear, num_heads: int) -> Blocks:
    """A head at a time; both halves are held whole."""
    transposed, own = (
        linear.load_dense().reshape(num_heads, -1, linear.shape[1]) for linear in (keys, values)
    )
    size = keys.shape[1] + own.shape[1]
    for head in range(num_heads):
        rows = slice(head * size, (head + 1) * size)
        yield rows, np.concatenate((transposed[head].T, own[head]))


def _joint_type(keys: SourceLinear, values: SourceLinear, *, is_quantized: bool) -> str:
    """Two types of floats are F32, which holds both."""
    types = {keys.source_type, values.source_type}
    if len(types) == 1:
        return types.pop()
    return (
        Sentence("{keys} and {values}", keys=keys.source_type, values=values.source_type)
        if is_quantized
        else "F32"
    )


def _refuse_native() -> Linear:
    raise AssertionError("no scheme holds a transposed block")
