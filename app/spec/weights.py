"""Which tensors a ModelSpec consists of: canonical names and shapes."""

from __future__ import annotations

from collections.abc import Iterator

from app.spec.model_spec import ModelSpec

# The linears outside the layers, one row a token.
VOCABULARY_LINEARS = ("embed_tokens", "lm_head")


def layer_linears(spec: ModelSpec) -> dict[str, tuple[int, int]]:
    """The linears of any layer, `self_attn.q_proj` ..., with their [out, in]."""
    hidden, inner = spec.hidden_size, spec.intermediate_size
    return {
        "self_attn.q_proj": (spec.q_size, hidden),
        "self_attn.k_proj": (spec.kv_size, hidden),
        "self_attn.v_proj": (spec.kv_size, hidden),
        "self_attn.o_proj": (hidden, spec.q_size),
        "mlp.gate_proj": (inner, hidden),
        "mlp.up_proj": (inner, hidden),
        "mlp.down_proj": (hidden, inner),
    }


def layer_vectors(spec: ModelSpec) -> dict[str, tuple[int]]:
    """The norm weights of any layer."""
    names: dict[str, tuple[int]] = {
        "input_layernorm": (spec.hidden_size,),
        "post_attention_layernorm": (spec.hidden_size,),
    }
    if spec.qk_norm:
        names |= {"self_attn.q_norm": (spec.head_dim,), "self_attn.k_norm": (spec.head_dim,)}
    return names


def has_bias(spec: ModelSpec, linear_name: str) -> bool:
    """Whether the linear `[layers.<n>.]self_attn.q_proj` ... carries a bias."""
    short = linear_name.rsplit(".", 1)[-1]
    if short in ("gate_proj", "up_proj", "down_proj"):
        return spec.mlp_bias
    bias = spec.attention_bias
    return {"q_proj": bias.q, "k_proj": bias.k, "v_proj": bias.v, "o_proj": bias.o}.get(
        short, False
    )


def iter_linears(spec: ModelSpec) -> Iterator[tuple[str, tuple[int, int]]]:
    """(canonical name, [out, in]) of every linear; `lm_head` only when it is not tied."""
    yield "embed_tokens", (spec.vocab_size, spec.hidden_size)
    for index in range(spec.num_hidden_layers):
        for name, shape in layer_linears(spec).items():
            yield f"layers.{index}.{name}", shape
    if not spec.tie_word_embeddings:
        yield "lm_head", (spec.vocab_size, spec.hidden_size)


def iter_vectors(spec: ModelSpec) -> Iterator[tuple[str, tuple[int]]]:
    """(canonical name, shape) of every norm weight."""
    for index in range(spec.num_hidden_layers):
        for name, shape in layer_vectors(spec).items():
            yield f"layers.{index}.{name}", shape
    yield "norm", (spec.hidden_size,)


def num_parameters(spec: ModelSpec) -> int:
    """Weights of all linears and norms (biases are not counted)."""
    linears = sum(rows * columns for _, (rows, columns) in iter_linears(spec))
    return linears + sum(size for _, (size,) in iter_vectors(spec))
