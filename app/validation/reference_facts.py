"""What transformers' module really has: its parameters, attributes, and what its parts compute.

Everything is looked up in the module made on the meta device; None where it does not say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from app.core.sentence import Sentence
from app.spec.model_spec import QKNorm
from app.validation.probes import probe_activation, probe_norm, probe_rope_pairs
from app.validation.spec_facts import (
    NONE,
    QK_NORMS,
    attention_form,
    describe_experts,
    grouped,
    joined,
    number,
    or_none,
    yes_no,
)

Facts = dict[str, str | None]
_BIAS_LETTERS = {
    "q_proj": "q", "k_proj": "k", "v_proj": "v", "o_proj": "o", "dense": "o",
    "q_a_proj": "q", "kv_a_proj_with_mqa": "k", "qkv_proj": "qkv",
}  # fmt: skip


def reference_facts(model: Any) -> Facts:
    """Facts by name, those of `spec_facts`."""
    config, layers = model.config, list(model.model.layers)
    embedding = model.get_input_embeddings()
    attention = next(layer.self_attn for layer in layers if hasattr(layer, "self_attn"))
    return {
        "layers": str(len(layers)),
        "hidden size": str(embedding.weight.shape[1]),
        "vocabulary": str(embedding.weight.shape[0]),
        **_attention_facts(config, attention),
        "sliding window by layer": _windows(config, layers),
        "rope by layer": _rope_layers(layers),
        "rope pairs": probe_rope_pairs(attention, config),
        **_norm_facts(layers[0]),
        **_mlp_facts(config, layers),
        "embedding multiplier": number(_embedding_multiplier(config, embedding)),
        "residual multiplier": number(getattr(config, "residual_multiplier", 1.0)),
        "logits multiplier": number(1 / (getattr(config, "logits_scaling", None) or 1.0)),
        "softcap of logits": number(getattr(config, "final_logit_softcapping", None)),
        "tied embeddings": yes_no(bool(config.tie_word_embeddings)),
    }


def _attention_facts(config: Any, attention: Any) -> Facts:
    shapes = _shapes(attention)
    is_latent = "kv_b_proj.weight" in shapes
    num_heads = config.num_attention_heads
    num_kv_heads = num_heads if is_latent else config.num_key_value_heads
    value_dim = shapes["o_proj.weight"][1] // num_heads
    head_dim = attention.qk_head_dim if is_latent else value_dim
    letters = {
        letter
        for name in shapes
        if name.endswith(".bias")
        for letter in _BIAS_LETTERS.get(name.split(".")[0], "")
    }
    return {
        "attention": attention_form(num_heads, num_kv_heads, is_latent=is_latent),
        "heads": Sentence(
            "{num_heads} of queries, {num_kv_heads} of keys",
            num_heads=num_heads,
            num_kv_heads=num_kv_heads,
        ),
        "head_dim": Sentence(
            "{head_dim}, values {value_dim}", head_dim=head_dim, value_dim=value_dim
        ),
        "q/k norm": _qk_norm(shapes, head_dim, num_heads),
        "attention biases": joined(letter for letter in "qkvo" if letter in letters),
        "attention scale": number(getattr(attention, "scaling", None)),
        "softcap of scores": number(getattr(attention, "attn_logit_softcapping", None)),
        "attention sinks": yes_no("sinks" in shapes),
    }


def _qk_norm(shapes: dict[str, Sequence[int]], head_dim: int, num_heads: int) -> str | None:
    norms = [name for name in shapes if "norm" in name and "_a_" not in name]
    if not norms:
        return QK_NORMS[QKNorm.NONE]
    size = max(math.prod(shapes[name]) for name in norms)
    known = {head_dim * num_heads: QKNorm.PROJECTION, head_dim: QKNorm.HEAD}
    return (
        QK_NORMS[known[size]]
        if size in known
        else Sentence("of {size} columns: {norms}", size=size, norms=", ".join(norms))
    )


def _windows(config: Any, layers: Sequence[Any]) -> str:
    return grouped(or_none(_window(config, index, layer)) for index, layer in enumerate(layers))


def _window(config: Any, index: int, layer: Any) -> int | None:
    attention: Any = getattr(layer, "self_attn", None)
    if hasattr(attention, "sliding_window"):
        slides = getattr(attention, "is_sliding", True)
        return attention.sliding_window if slides else None
    kinds = getattr(config, "layer_types", None)
    window: int | None = getattr(config, "sliding_window", None)
    if kinds is not None:
        return window if kinds[index] == "sliding_attention" else None
    # The mask is made for the whole model; Qwen's flag has set sliding_window to None by now.
    return window


def _rope_layers(layers: Sequence[Any]) -> str:
    """SmolLM3 says it by a flag, EXAONE 4 by the window; elsewhere all layers rotate."""
    words = []
    for layer in layers:
        attention: Any = getattr(layer, "self_attn", None)
        rotates = bool(getattr(attention, "use_rope", attention is not None))
        if hasattr(attention, "is_sliding") and hasattr(attention, "sliding_window_pattern"):
            rotates = attention.sliding_window is None or attention.is_sliding
        words.append(yes_no(rotates))
    return grouped(words)


def _norm_facts(layer: Any) -> Facts:
    norms = {
        name: child
        for name, child in layer.named_children()
        if "norm" in name and hasattr(child, "weight")
    }
    first = next(iter(norms.values()), None)
    described, eps = (None, None) if first is None else probe_norm(first)
    return {
        "norm": described,
        "norm eps": eps,
        "norms of a layer": ", ".join(sorted(norms)),
    }


def _mlp_facts(config: Any, layers: Sequence[Any]) -> Facts:
    sparse = [_experts(layer) is not None for layer in layers]
    dense = next((layer.mlp for layer, has in zip(layers, sparse, strict=True) if not has), None)
    block = next((layer for layer, has in zip(layers, sparse, strict=True) if has), None)
    facts: Facts = {"sparse layers": grouped(map(yes_no, sparse))}
    facts["activation"] = probe_activation(dense if dense is not None else layers[-1].mlp)
    if dense is not None:
        shapes = _shapes(dense)
        is_gated = any("gate" in name for name in shapes)
        down = next(shape for name, shape in shapes.items() if name in _DOWN)
        facts |= {
            "MLP": Sentence("gated") if is_gated else Sentence("plain"),
            "MLP biases": yes_no(any(name.endswith(".bias") for name in shapes)),
            "MLP size": str(down[1]),
        }
    if block is not None:
        facts |= _expert_facts(config, block)
    return facts


_DOWN = ("down_proj.weight", "c_proj.weight", "fc2.weight")


def _experts(layer: Any) -> Any | None:
    """The module with the stacked experts of a sparse layer."""
    return getattr(getattr(layer, "mlp", None), "experts", None)


def _expert_facts(config: Any, layer: Any) -> Facts:
    experts, hidden = _experts(layer), config.hidden_size
    shapes = _shapes(experts)
    down = next((shape for name, shape in shapes.items() if name == "down_proj"), None)
    chosen = getattr(config, "num_experts_per_tok", None)
    shared = {
        name: shape
        for name, shape in _shapes(layer.mlp).items()
        if "shared_expert" in name and name.endswith("down_proj.weight")
    }
    return {
        "experts": describe_experts(down[0], chosen, math.prod(down) // down[0] // hidden)
        if chosen is not None and down is not None
        else None,
        "shared expert": str(next(iter(shared.values()))[1]) if shared else NONE,
    }


def _embedding_multiplier(config: Any, embedding: Any) -> float:
    scale = getattr(embedding, "scalar_embed_scale", None)
    return float(scale if scale is not None else getattr(config, "embedding_multiplier", 1.0))


def _shapes(module: Any) -> dict[str, Sequence[int]]:
    return {name: tuple(weight.shape) for name, weight in module.named_parameters()}
