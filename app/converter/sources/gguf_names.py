"""GGUF tensor names -> canonical names, and the row order of q and k, per architecture.

Names: ggml-org/llama.cpp:gguf-py/gguf/tensor_mapping.py. Row orders: LlamaModel.permute in
conversion/llama.py and llama_model_rope_type in src/llama-model.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from app.converter.sources.claims import TensorClaims
from app.converter.sources.gguf_shards import StoredTensor
from app.core.errors import UnsupportedError
from app.spec.model_spec import ModelSpec
from app.spec.weights import has_bias, iter_linears, iter_vectors


class RowOrder(Enum):
    """How the rows of q and k stand in the file."""

    HALF = "half"  # Hugging Face's: the first halves of a head's rotary pairs, then the second
    PERMUTED = "permuted"  # pair by pair, by llama.cpp's converter


ROW_ORDERS = {"llama": RowOrder.PERMUTED, "qwen2": RowOrder.HALF, "qwen3": RowOrder.HALF}

_GLOBAL_NAMES = {"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output"}
_LAYER_NAMES = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
# Tensors that hold several linears, one below the other, where the first has none of its own.
_FUSED_NAMES = {
    "attn_qkv": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "ffn_up": ("mlp.gate_proj", "mlp.up_proj"),
}
# Read with the configuration, or (attn_rot_embd) computed by everyone from rope_theta.
_IGNORED_TENSORS = ("rope_freqs.weight",)
_IGNORED_LAYER_TENSORS = ("attn_rot_embd.weight",)


@dataclass(frozen=True, slots=True)
class TensorRows:
    """Rows [start, stop) of a stored tensor."""

    tensor: StoredTensor
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class LinearTensors:
    """What a linear is made of; `scale` multiplies a whole NVFP4 weight, other types have none."""

    weight: TensorRows
    bias: TensorRows | None
    scale: StoredTensor | None


@dataclass(frozen=True, slots=True)
class NameMap:
    """Canonical name -> what it is made of."""

    linears: dict[str, LinearTensors]
    vectors: dict[str, StoredTensor]


def unpermute_index(num_heads: int, head_dim: int) -> npt.NDArray[np.intp]:
    """For each row of q or k in Hugging Face's order, its place in a permuted file."""
    rows = np.arange(num_heads * head_dim).reshape(num_heads, head_dim // 2, 2)
    return rows.swapaxes(1, 2).reshape(-1)


def row_order_of(architecture: str) -> RowOrder:
    """UnsupportedError outside the table: a wrong guess would give silent nonsense."""
    if architecture not in ROW_ORDERS:
        raise UnsupportedError(
            f"The row order of q and k of architecture {architecture!r} is not known."
        )
    return ROW_ORDERS[architecture]


def map_names(spec: ModelSpec, tensors: Mapping[str, StoredTensor], file: str) -> NameMap:
    """Assigns every tensor exactly once; InvalidSourceError lists missing and surplus ones."""
    claims = TensorClaims(tensors)
    names = NameMap({}, {})
    shapes = dict(iter_linears(spec))
    for canonical in shapes:
        linear = _claim_linear(claims, canonical, shapes, has_bias(spec, canonical))
        if linear:
            names.linears[canonical] = linear
    for canonical, shape in iter_vectors(spec):
        stored = claims.take(f"{gguf_stem(canonical)}.weight", shape)
        if stored:
            names.vectors[canonical] = stored
    claims.check(ignored=_ignored(spec, tensors), architecture=spec.architecture, file=file)
    return names


def gguf_stem(canonical: str) -> str:
    """`layers.3.self_attn.q_proj` -> `blk.3.attn_q`."""
    if canonical in _GLOBAL_NAMES:
        return _GLOBAL_NAMES[canonical]
    _, index, name = canonical.split(".", 2)
    return f"blk.{index}.{_LAYER_NAMES[name]}"


def _claim_linear(
    claims: TensorClaims[StoredTensor],
    canonical: str,
    shapes: Mapping[str, tuple[int, int]],
    with_bias: bool,
) -> LinearTensors | None:
    stem, members = _find_fused(canonical, claims) or (gguf_stem(canonical), (canonical,))
    ends = np.cumsum([shapes[member][0] for member in members]).tolist()
    stop = ends[members.index(canonical)]
    start, columns = stop - shapes[canonical][0], shapes[canonical][1]

    def rows_of(suffix: str, *shape: int) -> TensorRows | None:
        stored = claims.take(f"{stem}.{suffix}", (ends[-1], *shape))
        return TensorRows(stored, start, stop) if stored else None

    weight = rows_of("weight", columns)
    bias = rows_of("bias") if with_bias else None
    return LinearTensors(weight, bias, _claim_scale(claims, stem, weight)) if weight else None


def _find_fused(
    canonical: str, claims: TensorClaims[StoredTensor]
) -> tuple[str, tuple[str, ...]] | None:
    """(stem, members) when the layer has a fused tensor instead of this linear's own."""
    if canonical in _GLOBAL_NAMES:
        return None
    _, index, name = canonical.split(".", 2)
    for fused, members in _FUSED_NAMES.items():
        first = f"blk.{index}.{_LAYER_NAMES[members[0]]}.weight"
        stem = f"blk.{index}.{fused}"
        if name in members and first not in claims and f"{stem}.weight" in claims:
            return stem, tuple(f"layers.{index}.{member}" for member in members)
    return None


def _claim_scale(
    claims: TensorClaims[StoredTensor], stem: str, weight: TensorRows
) -> StoredTensor | None:
    if weight.tensor.info.type.name != "NVFP4" or f"{stem}.scale" not in claims:
        return None
    return claims.take(f"{stem}.scale", (1,))


def _ignored(spec: ModelSpec, tensors: Mapping[str, StoredTensor]) -> set[str]:
    layers = range(spec.num_hidden_layers)
    per_layer = {f"blk.{index}.{name}" for index in layers for name in _IGNORED_LAYER_TENSORS}
    # NVFP4 files carry scales for quantized activations, which this program does not use.
    return {*_IGNORED_TENSORS, *per_layer, *(n for n in tensors if n.endswith(".input_scale"))}
