"""Which tensors a ModelSpec consists of: canonical names and shapes.

Canonical names are Hugging Face's for Llama without the leading `model.`. Norms are named as in
GLM-4, whose four are a superset of Llama's two: `input_layernorm` before attention,
`post_self_attn_layernorm` on its output, `post_attention_layernorm` before the MLP,
`post_mlp_layernorm` on its output.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from app.spec.delta_net_spec import DeltaNetSpec
from app.spec.mla_spec import MlaSpec
from app.spec.model_spec import MlpType, ModelSpec, NormPlacement, QKNorm

# The linears outside the layers, one row a token.
VOCABULARY_LINEARS = ("embed_tokens", "lm_head")
# Small, and a wrong choice of experts costs more than its bits: never quantized.
ROUTER_LINEARS = ("mlp.router", "mlp.shared_expert_gate")
# A row a head: next to no bytes, and what they say is applied to a state again and again.
HEAD_LINEARS = ("linear_attn.in_proj_b", "linear_attn.in_proj_a")

_PRE_NORMS = ("input_layernorm", "post_attention_layernorm")
_POST_NORMS = ("post_self_attn_layernorm", "post_mlp_layernorm")


def is_router(name: str) -> bool:
    """Whether the linear `layers.<n>.mlp.router` ... decides about experts."""
    return name.endswith(ROUTER_LINEARS)


def stays_dense(name: str) -> bool:
    """Whether a grid that loses something is not for this linear."""
    return name.endswith((*ROUTER_LINEARS, *HEAD_LINEARS))


def is_on_card(spec: ModelSpec, name: str) -> bool:
    """Whether a card holds the linear in its own memory.

    Of an embedding that is no lm_head, a token reads one row: it stays with the computer.
    """
    return name != "embed_tokens" or spec.tie_word_embeddings


def layer_linears(spec: ModelSpec, index: int) -> dict[str, tuple[int, int]]:
    """The linears of a layer, `self_attn.q_proj` ..., with their [out, in]."""
    mixer = _delta_linears(spec) if spec.is_linear(index) else _attention_linears(spec)
    return mixer | (
        _expert_linears(spec)
        if spec.is_sparse(index)
        else _mlp_linears(spec, "mlp", spec.intermediate_size)
    )


def layer_vectors(spec: ModelSpec, index: int) -> dict[str, tuple[int, ...]]:
    """The vectors of a layer: norm weights, and whatever else no vector is multiplied with."""
    names: dict[str, tuple[int, ...]] = dict.fromkeys(norm_names(spec), (spec.hidden_size,))
    if spec.norm_bias:
        names |= {f"{name}.bias": shape for name, shape in names.items()}
    names |= _delta_vectors(spec) if spec.is_linear(index) else _attention_vectors(spec)
    if spec.moe is not None and spec.is_sparse(index) and spec.moe.score_correction_bias:
        names["mlp.router_correction"] = (spec.moe.num_experts,)
    return names


def _attention_vectors(spec: ModelSpec) -> dict[str, tuple[int, ...]]:
    names: dict[str, tuple[int, ...]] = {}
    if spec.qk_norm is not QKNorm.NONE:
        is_per_head = spec.qk_norm is QKNorm.HEAD
        names["self_attn.q_norm"] = (spec.head_dim if is_per_head else spec.q_size,)
        names["self_attn.k_norm"] = (spec.head_dim if is_per_head else spec.kv_size,)
    if spec.mla is not None:
        names["self_attn.kv_a_layernorm"] = (spec.mla.kv_lora_rank,)
        if spec.mla.q_lora_rank is not None:
            names["self_attn.q_a_layernorm"] = (spec.mla.q_lora_rank,)
    if spec.attention_sinks:
        names["self_attn.sinks"] = (spec.num_attention_heads,)
    return names


def _delta_vectors(spec: ModelSpec) -> dict[str, tuple[int, ...]]:
    delta = _delta_net(spec)
    return {
        "linear_attn.conv1d": (delta.num_channels, delta.linear_conv_kernel_dim),
        "linear_attn.A_log": (delta.linear_num_value_heads,),
        "linear_attn.dt_bias": (delta.linear_num_value_heads,),
        "linear_attn.norm": (delta.linear_value_head_dim,),
    }


def _delta_net(spec: ModelSpec) -> DeltaNetSpec:
    assert spec.delta_net is not None
    return spec.delta_net


def norm_names(spec: ModelSpec) -> tuple[str, ...]:
    """The norms of hidden_size columns that a layer has, in the order in which they run."""
    match spec.norm_placement:
        case NormPlacement.PRE:
            return _PRE_NORMS
        case NormPlacement.POST:
            return _POST_NORMS
        case NormPlacement.SANDWICH:
            return _PRE_NORMS[0], _POST_NORMS[0], _PRE_NORMS[1], _POST_NORMS[1]


def has_norm_offset(vector_name: str) -> bool:
    """Whether a vector is a norm to which `norm_offset` is added: not that of a delta net."""
    return vector_name.endswith("norm") and not vector_name.endswith("linear_attn.norm")


def has_bias(spec: ModelSpec, linear_name: str) -> bool:
    """Whether the linear `[layers.<n>.]self_attn.q_proj` ... carries a bias."""
    short = linear_name.rsplit(".", 1)[-1]
    if short == "router":
        return spec.moe is not None and spec.moe.router_bias
    if short in ("gate_proj", "up_proj", "down_proj"):
        is_expert = ".experts." in linear_name
        return spec.mlp_bias if not is_expert else spec.moe is not None and spec.moe.expert_bias
    bias = spec.attention_bias
    has = {"q_proj": bias.q, "k_proj": bias.k, "v_proj": bias.v, "o_proj": bias.o}
    has["output_gate"] = bias.q  # they are one projection where a family stores them
    has |= {"q_a_proj": bias.q, "kv_a_proj_with_mqa": bias.k}
    return has.get(short, False)


def iter_linears(spec: ModelSpec) -> Iterator[tuple[str, tuple[int, int]]]:
    """(canonical name, [out, in]) of every linear; `lm_head` only when it is not tied."""
    yield "embed_tokens", (spec.vocab_size, spec.hidden_size)
    for index in range(spec.num_hidden_layers):
        for name, shape in layer_linears(spec, index).items():
            yield f"layers.{index}.{name}", shape
    if not spec.tie_word_embeddings:
        yield "lm_head", (spec.vocab_size, spec.hidden_size)


def iter_vectors(spec: ModelSpec) -> Iterator[tuple[str, tuple[int, ...]]]:
    """(canonical name, shape) of every vector, the kernels of convolutions among them."""
    for index in range(spec.num_hidden_layers):
        for name, shape in layer_vectors(spec, index).items():
            yield f"layers.{index}.{name}", shape
    yield "norm", (spec.hidden_size,)
    if spec.norm_bias:
        yield "norm.bias", (spec.hidden_size,)


def num_parameters(spec: ModelSpec) -> int:
    """Weights of all linears and vectors (biases of linears are not counted)."""
    linears = sum(math.prod(shape) for _, shape in iter_linears(spec))
    return linears + sum(math.prod(shape) for _, shape in iter_vectors(spec))


def _attention_linears(spec: ModelSpec) -> dict[str, tuple[int, int]]:
    hidden = spec.hidden_size
    if spec.mla is not None:
        return _latent_linears(spec, spec.mla)
    linears = {
        "self_attn.q_proj": (spec.q_size, hidden),
        "self_attn.k_proj": (spec.kv_size, hidden),
        "self_attn.v_proj": (spec.kv_size, hidden),
        "self_attn.o_proj": (hidden, spec.q_size),
    }
    if spec.attention_output_gate:
        linears["self_attn.output_gate"] = (spec.q_size, hidden)
    return linears


def _delta_linears(spec: ModelSpec) -> dict[str, tuple[int, int]]:
    delta, hidden = _delta_net(spec), spec.hidden_size
    return {
        "linear_attn.in_proj_qkv": (delta.num_channels, hidden),
        "linear_attn.in_proj_z": (delta.value_size, hidden),
        "linear_attn.in_proj_b": (delta.linear_num_value_heads, hidden),
        "linear_attn.in_proj_a": (delta.linear_num_value_heads, hidden),
        "linear_attn.out_proj": (hidden, delta.value_size),
    }


def _latent_linears(spec: ModelSpec, mla: MlaSpec) -> dict[str, tuple[int, int]]:
    hidden, num_heads = spec.hidden_size, spec.num_attention_heads
    if mla.q_lora_rank is None:
        queries = {"self_attn.q_proj": (spec.q_size, hidden)}
    else:
        queries = {
            "self_attn.q_a_proj": (mla.q_lora_rank, hidden),
            "self_attn.q_b_proj": (spec.q_size, mla.q_lora_rank),
        }
    expanded = num_heads * (mla.qk_nope_head_dim + mla.v_head_dim)
    return queries | {
        "self_attn.kv_a_proj_with_mqa": (mla.kv_lora_rank + mla.qk_rope_head_dim, hidden),
        "self_attn.kv_b_proj": (expanded, mla.kv_lora_rank),
        "self_attn.o_proj": (hidden, num_heads * mla.v_head_dim),
    }


def _mlp_linears(spec: ModelSpec, prefix: str, inner: int) -> dict[str, tuple[int, int]]:
    linears = {
        f"{prefix}.gate_proj": (inner, spec.hidden_size),
        f"{prefix}.up_proj": (inner, spec.hidden_size),
        f"{prefix}.down_proj": (spec.hidden_size, inner),
    }
    if spec.mlp_type is MlpType.PLAIN:
        del linears[f"{prefix}.gate_proj"]
    return linears


def _expert_linears(spec: ModelSpec) -> dict[str, tuple[int, int]]:
    assert spec.moe is not None
    moe = spec.moe
    linears = {"mlp.router": (moe.num_experts, spec.hidden_size)}
    for expert in range(moe.num_experts):
        linears |= _mlp_linears(spec, f"mlp.experts.{expert}", moe.moe_intermediate_size)
    if moe.shared_intermediate_size:
        linears |= _mlp_linears(spec, "mlp.shared_expert", moe.shared_intermediate_size)
    if moe.shared_expert_gate:
        linears["mlp.shared_expert_gate"] = (1, spec.hidden_size)
    return linears
