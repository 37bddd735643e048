"""What a ModelSpec says, in the words in which `reference_facts` describes transformers' module."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from app.spec.model_spec import ModelSpec, QKNorm
from app.spec.weight_names import WeightNames
from app.spec.weights import norm_names

NONE = "none"
QK_NORMS = {
    QKNorm.NONE: NONE,
    QKNorm.HEAD: "over each head",
    QKNorm.PROJECTION: "over the whole projection",
}


def spec_facts(spec: ModelSpec, names: WeightNames) -> dict[str, str]:
    """Facts by name, in the order in which the report shows them."""
    layers = range(spec.num_hidden_layers)
    return {
        "layers": str(spec.num_hidden_layers),
        "hidden size": str(spec.hidden_size),
        "vocabulary": str(spec.vocab_size),
        **_attention_facts(spec),
        "sliding window by layer": grouped(str(spec.layer_window(i) or NONE) for i in layers),
        "rope by layer": grouped(yes_no(spec.layer_rope(i) is not None) for i in layers),
        "rope pairs": "neighbours" if names.interleaved_rope else "halves",
        "norm": describe_norm(str(spec.norm_type), spec.norm_bias, spec.norm_offset),
        "norm eps": number(spec.rms_norm_eps),
        "norms of a layer": ", ".join(sorted(layer_norm_names(spec, names))),
        **_mlp_facts(spec),
        "embedding multiplier": number(spec.embedding_multiplier),
        "residual multiplier": number(spec.residual_multiplier),
        "logits multiplier": number(spec.logits_multiplier),
        "softcap of logits": number(spec.final_logit_softcapping),
        "tied embeddings": yes_no(spec.tie_word_embeddings),
    }


def _attention_facts(spec: ModelSpec) -> dict[str, str]:
    bias, mla = spec.attention_bias, spec.mla
    letters = {"q": bias.q, "k": bias.k, "v": bias.v and mla is None, "o": bias.o}
    return {
        "attention": attention_form(
            spec.num_attention_heads, spec.num_key_value_heads, is_latent=mla is not None
        ),
        "heads": f"{spec.num_attention_heads} of queries, {spec.num_key_value_heads} of keys",
        "head_dim": f"{spec.head_dim}, values {spec.value_head_dim}",
        "q/k norm": QK_NORMS[spec.qk_norm],
        "attention biases": joined(letter for letter, has in letters.items() if has),
        "attention scale": number(spec.attention_multiplier),
        "softcap of scores": number(spec.attn_logit_softcapping),
        "attention sinks": yes_no(spec.attention_sinks),
    }


def _mlp_facts(spec: ModelSpec) -> dict[str, str]:
    moe, layers = spec.moe, range(spec.num_hidden_layers)
    sparse = [index for index in layers if spec.is_sparse(index)]
    facts = {
        "activation": spec.hidden_act,
        "sparse layers": grouped(yes_no(index in sparse) for index in layers),
    }
    if len(sparse) < spec.num_hidden_layers:
        facts |= {
            "MLP": str(spec.mlp_type),
            "MLP biases": yes_no(spec.mlp_bias),
            "MLP size": str(spec.intermediate_size),
        }
    if moe is not None:
        facts["experts"] = describe_experts(
            moe.num_experts, moe.num_experts_per_tok, moe.moe_intermediate_size
        )
        facts["shared expert"] = str(moe.shared_intermediate_size or NONE)
    return facts


def layer_norm_names(spec: ModelSpec, names: WeightNames) -> set[str]:
    """The family's own names of a layer's norms over hidden_size."""
    return {names.stem(f"layers.0.{name}").rpartition(".")[2] for name in norm_names(spec)}


def attention_form(num_heads: int, num_kv_heads: int, *, is_latent: bool) -> str:
    """`latent`, `multi-head`, `multi-query` or `grouped-query`."""
    if is_latent:
        return "latent"
    if num_kv_heads == num_heads:
        return "multi-head"
    return "multi-query" if num_kv_heads == 1 else "grouped-query"


def describe_norm(kind: str, has_bias: bool, offset: float) -> str:
    """`rms_norm, times 1 + w`."""
    factor = "times 1 + w" if offset else "times w"
    return f"{kind}, {factor}{', plus bias' if has_bias else ''}"


def describe_experts(count: int, chosen: int, inner: int) -> str:
    """`8 of 64 for a token, inner size 1408`."""
    return f"{chosen} of {count} for a token, inner size {inner}"


def number(value: float | None) -> str:
    """Six digits: what two programs compute in float32 must not differ by rounding."""
    return NONE if value is None else f"{value:.6g}"


def yes_no(value: bool) -> str:
    """A flag in words."""
    return "yes" if value else "no"


def joined(words: Iterable[str]) -> str:
    """`q, k, v`, or none."""
    return ", ".join(words) or NONE


def grouped(words: Iterable[str]) -> str:
    """`4096 x3, none`: neighbours that are equal, counted; one word where all are."""
    groups = [(word, len(list(group))) for word, group in groupby(words)]
    if len(groups) == 1:
        return groups[0][0]
    return _shortened([word if count == 1 else f"{word} x{count}" for word, count in groups])


def _shortened(words: Sequence[str]) -> str:
    """A pattern that repeats is shown once."""
    for period in range(1, len(words) // 2 + 1):
        if all(word == words[index % period] for index, word in enumerate(words)):
            times, rest = divmod(len(words), period)
            tail = "".join(f", {word}" for word in words[times * period :] if rest)
            return f"({', '.join(words[:period])}) x{times}{tail}"
    return ", ".join(words)
