"""What a ModelSpec says, in the words in which `reference_facts` describes transformers' module."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from app.core.sentence import Sentence, listing
from app.spec.model_spec import MlpType, ModelSpec, QKNorm
from app.spec.weight_names import WeightNames
from app.spec.weights import norm_names

NONE = Sentence("none")
QK_NORMS = {
    QKNorm.NONE: NONE,
    QKNorm.HEAD: Sentence("over each head"),
    QKNorm.PROJECTION: Sentence("over the whole projection"),
}

_MLP_TYPES = {MlpType.GATED: Sentence("gated"), MlpType.PLAIN: Sentence("plain")}


def spec_facts(spec: ModelSpec, names: WeightNames) -> dict[str, str]:
    """Facts by name, in the order in which the report shows them."""
    layers = range(spec.num_hidden_layers)
    return {
        Sentence("layers"): str(spec.num_hidden_layers),
        Sentence("hidden size"): str(spec.hidden_size),
        Sentence("vocabulary"): str(spec.vocab_size),
        **_attention_facts(spec),
        Sentence("sliding window by layer"): grouped(or_none(spec.layer_window(i)) for i in layers),
        Sentence("rope by layer"): grouped(yes_no(spec.layer_rope(i) is not None) for i in layers),
        Sentence("rope pairs"): Sentence("neighbours")
        if names.interleaved_rope
        else Sentence("halves"),
        Sentence("norm"): describe_norm(str(spec.norm_type), spec.norm_bias, spec.norm_offset),
        Sentence("norm eps"): number(spec.rms_norm_eps),
        Sentence("norms of a layer"): ", ".join(sorted(layer_norm_names(spec, names))),
        **_mlp_facts(spec),
        Sentence("embedding multiplier"): number(spec.embedding_multiplier),
        Sentence("residual multiplier"): number(spec.residual_multiplier),
        Sentence("logits multiplier"): number(spec.logits_multiplier),
        Sentence("softcap of logits"): number(spec.final_logit_softcapping),
        Sentence("tied embeddings"): yes_no(spec.tie_word_embeddings),
    }


def _attention_facts(spec: ModelSpec) -> dict[str, str]:
    bias, mla = spec.attention_bias, spec.mla
    letters = {"q": bias.q, "k": bias.k, "v": bias.v and mla is None, "o": bias.o}
    return {
        Sentence("attention"): attention_form(
            spec.num_attention_heads, spec.num_key_value_heads, is_latent=mla is not None
        ),
        Sentence("heads"): Sentence(
            "{num_heads} of queries, {num_kv_heads} of keys",
            num_heads=spec.num_attention_heads,
            num_kv_heads=spec.num_key_value_heads,
        ),
        "head_dim": Sentence(
            "{head_dim}, values {value_dim}", head_dim=spec.head_dim, value_dim=spec.value_head_dim
        ),
        Sentence("q/k norm"): QK_NORMS[spec.qk_norm],
        Sentence("attention biases"): joined(letter for letter, has in letters.items() if has),
        Sentence("attention scale"): number(spec.attention_multiplier),
        Sentence("softcap of scores"): number(spec.attn_logit_softcapping),
        Sentence("attention sinks"): yes_no(spec.attention_sinks),
    }


def _mlp_facts(spec: ModelSpec) -> dict[str, str]:
    moe, layers = spec.moe, range(spec.num_hidden_layers)
    sparse = [index for index in layers if spec.is_sparse(index)]
    facts: dict[str, str] = {
        Sentence("activation"): spec.hidden_act,
        Sentence("sparse layers"): grouped(yes_no(index in sparse) for index in layers),
    }
    if len(sparse) < spec.num_hidden_layers:
        facts |= {
            Sentence("MLP"): _MLP_TYPES[spec.mlp_type],
            Sentence("MLP biases"): yes_no(spec.mlp_bias),
            Sentence("MLP size"): str(spec.intermediate_size),
        }
    if moe is not None:
        facts[Sentence("experts")] = describe_experts(
            moe.num_experts, moe.num_experts_per_tok, moe.moe_intermediate_size
        )
        facts[Sentence("shared expert")] = or_none(moe.shared_intermediate_size)
    return facts


def layer_norm_names(spec: ModelSpec, names: WeightNames) -> set[str]:
    """The family's own names of a layer's norms over hidden_size."""
    return {names.stem(f"layers.0.{name}").rpartition(".")[2] for name in norm_names(spec)}


def attention_form(num_heads: int, num_kv_heads: int, *, is_latent: bool) -> str:
    """`latent`, `multi-head`, `multi-query` or `grouped-query`."""
    if is_latent:
        return Sentence("latent")
    if num_kv_heads == num_heads:
        return Sentence("multi-head")
    return Sentence("multi-query") if num_kv_heads == 1 else Sentence("grouped-query")


def describe_norm(kind: str, has_bias: bool, offset: float) -> str:
    """`rms_norm, times 1 + w`."""
    parts = [kind, Sentence("times 1 + w") if offset else Sentence("times w")]
    return listing([*parts, Sentence("plus bias")] if has_bias else parts)


def describe_experts(count: int, chosen: int, inner: int) -> str:
    """`8 of 64 for a token, inner size 1408`."""
    return Sentence(
        "{chosen} of {count} for a token, inner size {inner}",
        chosen=chosen,
        count=count,
        inner=inner,
    )


def number(value: float | None) -> str:
    """Six digits: what two programs compute in float32 must not differ by rounding."""
    return NONE if value is None else f"{value:.6g}"


def yes_no(value: bool) -> str:
    """A flag in words."""
    return Sentence("yes") if value else Sentence("no")


def joined(words: Iterable[str]) -> str:
    """`q, k, v`, or none."""
    found = tuple(words)
    return listing(found) if found else NONE


def grouped(words: Iterable[str]) -> str:
    """`4096 x3, none`: neighbours that are equal, counted; one word where all are."""
    groups = [(word, len(list(group))) for word, group in groupby(words)]
    if len(groups) == 1:
        return groups[0][0]
    return _shortened(
        [
            word if count == 1 else Sentence("{word} x{count}", word=word, count=count)
            for word, count in groups
        ]
    )


def _shortened(words: Sequence[str]) -> str:
    """A pattern that repeats is shown once."""
    for period in range(1, len(words) // 2 + 1):
        if all(word == words[index % period] for index, word in enumerate(words)):
            times, rest = divmod(len(words), period)
            pattern = Sentence("({words}) x{count}", words=listing(words[:period]), count=times)
            return listing([pattern, *(words[times * period :] if rest else ())])
    return listing(words)


def or_none(count: int | None) -> str:
    """A size, or none."""
    return str(count) if count else NONE
