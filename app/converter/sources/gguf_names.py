"""GGUF tensor names -> canonical names, and which rows of which tensor hold a linear.

Names: ggml-org/llama.cpp:gguf-py/gguf/tensor_mapping.py and constants.py.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from app.converter.sources.claims import TensorClaims
from app.converter.sources.gguf_shards import StoredTensor
from app.converter.sources.grouped_rows import grouped_rows
from app.converter.sources.taken_rows import Rows
from app.spec.gguf_architecture import GgufArchitecture
from app.spec.gguf_rope import ROPE_TABLES
from app.spec.model_spec import ModelSpec
from app.spec.weights import has_bias, iter_linears, iter_vectors

_GLOBAL_NAMES = {"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output"}
_LAYER_NAMES = {
    "input_layernorm": "attn_norm",
    "post_self_attn_layernorm": "post_attention_norm",
    "post_attention_layernorm": "ffn_norm",
    "post_mlp_layernorm": "post_ffw_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.output_gate": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "self_attn.sinks": "attn_sinks",
    "self_attn.q_a_proj": "attn_q_a",
    "self_attn.q_a_layernorm": "attn_q_a_norm",
    "self_attn.q_b_proj": "attn_q_b",
    "self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa",
    "self_attn.kv_a_layernorm": "attn_kv_a_norm",
    "self_attn.kv_b_proj": "attn_kv_b",
    "linear_attn.in_proj_qkv": "attn_qkv",
    "linear_attn.in_proj_z": "attn_gate",
    "linear_attn.in_proj_b": "ssm_beta",
    "linear_attn.in_proj_a": "ssm_alpha",
    "linear_attn.conv1d": "ssm_conv1d",
    "linear_attn.A_log": "ssm_a",
    "linear_attn.dt_bias": "ssm_dt",
    "linear_attn.norm": "ssm_norm",
    "linear_attn.out_proj": "ssm_out",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "mlp.router": "ffn_gate_inp",
    "mlp.router_correction": "exp_probs_b",
    "mlp.shared_expert_gate": "ffn_gate_inp_shexp",
    "mlp.shared_expert.gate_proj": "ffn_gate_shexp",
    "mlp.shared_expert.up_proj": "ffn_up_shexp",
    "mlp.shared_expert.down_proj": "ffn_down_shexp",
}
# Vectors whose names do not end with `.weight`.
_STORED_AS_BIAS = (".bias", "mlp.router_correction", "linear_attn.dt_bias")
_STORED_BARE = "linear_attn.A_log"
# Tensors [num_experts, out, in] that hold one linear of every expert.
_STACKED_NAMES = {
    "gate_proj": "ffn_gate_exps",
    "up_proj": "ffn_up_exps",
    "down_proj": "ffn_down_exps",
}
# Tensors that hold several linears, one below the other, where the first has none of its own.
_FUSED_NAMES = {
    "attn_qkv": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "ffn_up": ("mlp.gate_proj", "mlp.up_proj"),
}
# Tensors that hold several linears by group of heads (`grouped_rows`), where a layer has them all.
_GROUPED_NAMES = {
    "attn_q": ("self_attn.q_proj", "self_attn.output_gate"),
    "ssm_ba": ("linear_attn.in_proj_b", "linear_attn.in_proj_a"),
    "ssm_in": ("linear_attn.in_proj_qkv", "linear_attn.in_proj_z"),  # the first files
}
# Read with the configuration (ROPE_TABLES), or computed by everyone from rope_theta.
_IGNORED_LAYER_TENSORS = ("attn_rot_embd.weight",)


@dataclass(frozen=True, slots=True)
class TensorRows:
    """Rows [start, stop) of a stored tensor; all axes but the last count as rows."""

    tensor: StoredTensor
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class LinearTensors:
    """What a linear is made of; `scale` multiplies a whole NVFP4 weight, other types have none.

    Of `weight` and `bias` only `taken` are the linear's, where set.
    """

    weight: TensorRows
    bias: TensorRows | None
    scale: StoredTensor | None
    taken: Rows | None = None


@dataclass(frozen=True, slots=True)
class NameMap:
    """Canonical name -> what it is made of; of `expansions` the keys' part and the values'."""

    linears: dict[str, LinearTensors]
    vectors: dict[str, StoredTensor]
    expansions: dict[str, tuple[LinearTensors, LinearTensors]]


def map_names(
    spec: ModelSpec,
    architecture: GgufArchitecture,
    tensors: Mapping[str, StoredTensor],
    file: str,
    draft: Collection[str] = (),
) -> NameMap:
    """Assigns every tensor but `draft` once; InvalidSourceError lists missing and surplus ones."""
    claims = TensorClaims(tensors)
    claimer = _Claimer(spec, architecture.names, claims)
    names = NameMap({}, {}, {})
    for canonical in claimer.shapes:
        if claimer.is_apart(canonical):
            names.expansions.update(claimer.claim_expansion(canonical))
        elif linear := claimer.claim_linear(canonical):
            names.linears[canonical] = linear
    for canonical, shape in iter_vectors(spec):
        stored = claims.take(claimer.vector_name(canonical), shape)
        if stored:
            names.vectors[canonical] = stored
    ignored = {*_ignored(spec, tensors), *draft}
    claims.check(ignored=ignored, architecture=spec.architecture, file=file)
    return names


def gguf_stem(canonical: str, names: Mapping[str, str]) -> str:
    """`layers.3.self_attn.q_proj` -> `blk.3.attn_q`; `names` are the architecture's own."""
    if canonical in _GLOBAL_NAMES:
        return _GLOBAL_NAMES[canonical]
    _, index, name = canonical.split(".", 2)
    return f"blk.{index}.{names.get(name) or _LAYER_NAMES[name]}"


@dataclass(frozen=True, slots=True)
class _Holder:
    """A stored tensor `stem` of shape [*leading, in], whose rows [start, stop) are a linear.

    Of them those `taken`, where set.
    """

    stem: str
    leading: tuple[int, ...]
    start: int
    stop: int
    taken: Rows | None = None


class _Claimer:
    """Finds the stored tensor of each linear: its own, a fused one, or a stack of experts."""

    def __init__(
        self, spec: ModelSpec, names: Mapping[str, str], claims: TensorClaims[StoredTensor]
    ) -> None:
        self._spec, self._names, self._claims = spec, names, claims
        self.shapes = dict(iter_linears(spec))

    def vector_name(self, canonical: str) -> str:
        stem = gguf_stem(canonical.removesuffix(".bias"), self._names)
        if canonical.endswith(_STORED_BARE):
            return stem
        return f"{stem}.bias" if canonical.endswith(_STORED_AS_BIAS) else f"{stem}.weight"

    def claim_linear(self, canonical: str) -> LinearTensors | None:
        holder, columns = self._find_holder(canonical), self.shapes[canonical][1]
        weight = self._rows(holder, "weight", (*holder.leading, columns))
        if weight is None:
            return None
        with_bias = has_bias(self._spec, canonical)
        bias = self._rows(holder, "bias", holder.leading) if with_bias else None
        return LinearTensors(weight, bias, self._claim_scale(holder.stem, weight), holder.taken)

    def is_apart(self, canonical: str) -> bool:
        """Whether keys and values of latent attention are expanded by tensors of their own."""
        if not canonical.endswith(".kv_b_proj"):
            return False
        stem = gguf_stem(canonical, self._names)
        return f"{stem}.weight" not in self._claims and f"{_apart(stem)[0]}.weight" in self._claims

    def claim_expansion(self, canonical: str) -> dict[str, tuple[LinearTensors, LinearTensors]]:
        """By the canonical name; empty when one is missing."""
        assert self._spec.mla is not None
        mla, num_heads = self._spec.mla, self._spec.num_attention_heads
        key_stem, value_stem = _apart(gguf_stem(canonical, self._names))
        keys = self._claim_heads(key_stem, num_heads, mla.kv_lora_rank, mla.qk_nope_head_dim)
        values = self._claim_heads(value_stem, num_heads, mla.v_head_dim, mla.kv_lora_rank)
        return {canonical: (keys, values)} if keys and values else {}

    def _claim_heads(
        self, stem: str, num_heads: int, num_rows: int, columns: int
    ) -> LinearTensors | None:
        holder = _Holder(stem, (num_heads, num_rows), 0, num_heads * num_rows)
        weight = self._rows(holder, "weight", (num_heads, num_rows, columns))
        return LinearTensors(weight, None, self._claim_scale(stem, weight)) if weight else None

    def _find_holder(self, canonical: str) -> _Holder:
        num_rows, columns = self.shapes[canonical]
        if ".mlp.experts." in canonical:
            return self._find_stack(canonical, num_rows)
        if fused := self._find_fused(canonical):
            stem, members = fused
            ends = np.cumsum([self.shapes[member][0] for member in members]).tolist()
            stop = ends[members.index(canonical)]
            return _Holder(stem, (ends[-1],), stop - num_rows, stop)
        if grouped := self._find_grouped(canonical):
            stem, members = grouped
            total = sum(self.shapes[member][0] for member in members)
            rows = grouped_rows(self._spec, members, canonical)
            return _Holder(stem, (total,), 0, total, rows)
        stem = gguf_stem(canonical, self._names)
        is_flat = num_rows == 1 and self._claims.shape_of(f"{stem}.weight") == (columns,)
        return _Holder(stem, () if is_flat else (num_rows,), 0, num_rows)

    def _find_stack(self, canonical: str, num_rows: int) -> _Holder:
        assert self._spec.moe is not None
        _, index, _, _, expert, short = canonical.split(".")
        # Files of early 2024 keep Mixtral's experts apart.
        own = f"blk.{index}.{_LAYER_NAMES[f'mlp.{short}']}.{expert}"
        if f"{own}.weight" in self._claims:
            return _Holder(own, (num_rows,), 0, num_rows)
        leading = (self._spec.moe.num_experts, num_rows)
        start = int(expert) * num_rows
        return _Holder(f"blk.{index}.{_STACKED_NAMES[short]}", leading, start, start + num_rows)

    def _find_fused(self, canonical: str) -> tuple[str, tuple[str, ...]] | None:
        """(stem, members) when the layer has a fused tensor instead of this linear's own."""
        if canonical in _GLOBAL_NAMES:
            return None
        _, index, name = canonical.split(".", 2)
        for fused, members in _FUSED_NAMES.items():
            stem = f"blk.{index}.{fused}"
            names = tuple(f"layers.{index}.{member}" for member in members)
            first = f"blk.{index}.{_LAYER_NAMES[members[0]]}.weight"
            is_fused = first not in self._claims and f"{stem}.weight" in self._claims
            # A plain MLP has no gate, and its ffn_up is nothing but itself.
            if name in members and is_fused and self.shapes.keys() >= set(names):
                return stem, names
        return None

    def _find_grouped(self, canonical: str) -> tuple[str, tuple[str, ...]] | None:
        """(stem, members) of a tensor that holds several linears of the layer by group."""
        if canonical in _GLOBAL_NAMES:
            return None
        _, index, name = canonical.split(".", 2)
        for grouped, members in _GROUPED_NAMES.items():
            stem = f"blk.{index}.{grouped}"
            names = tuple(f"layers.{index}.{member}" for member in members)
            if name in members and self.shapes.keys() >= set(names) and self._has(stem):
                return stem, names
        return None

    def _has(self, stem: str) -> bool:
        return f"{stem}.weight" in self._claims

    def _rows(self, holder: _Holder, suffix: str, shape: tuple[int, ...]) -> TensorRows | None:
        stored = self._claims.take(f"{holder.stem}.{suffix}", shape)
        return TensorRows(stored, holder.start, holder.stop) if stored else None

    def _claim_scale(self, stem: str, weight: TensorRows) -> StoredTensor | None:
        if weight.tensor.info.type.name != "NVFP4" or f"{stem}.scale" not in self._claims:
            return None
        return self._claims.take(f"{stem}.scale", (1,))


def _apart(stem: str) -> tuple[str, str]:
    """`blk.3.attn_kv_b` -> `blk.3.attn_k_b`, `blk.3.attn_v_b`."""
    layer = stem.rpartition(".")[0]
    return f"{layer}.attn_k_b", f"{layer}.attn_v_b"


def _ignored(spec: ModelSpec, tensors: Mapping[str, StoredTensor]) -> set[str]:
    layers = range(spec.num_hidden_layers)
    per_layer = {f"blk.{index}.{name}" for index in layers for name in _IGNORED_LAYER_TENSORS}
    # NVFP4 files carry scales for quantized activations, which this program does not use.
    return {*ROPE_TABLES, *per_layer, *(n for n in tensors if n.endswith(".input_scale"))}
