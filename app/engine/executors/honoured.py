"""Which fields of ModelSpec the native executors compute; a new one is refused until it is here."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import MISSING, fields

from app.core.errors import UnsupportedError
from app.spec.model_spec import ModelSpec

# Fields with a default whose other values the kernels of both compute, too.
_HONOURED = {
    "qk_norm",
    "norm_type",
    "norm_bias",
    "norm_offset",
    "norm_placement",
    "sliding_rope",
    "rope_layers",
    "query_scaling",
    "attn_logit_softcapping",
    "attention_sinks",
    "attention_output_gate",
    "mlp_type",
    "moe",
    "mla",
    "delta_net",
    "embedding_multiplier",
    "residual_multiplier",
    "logits_multiplier",
    "final_logit_softcapping",
}


def check_fields(spec: ModelSpec, executor: str, activations: Container[str]) -> None:
    """Raises UnsupportedError naming what `executor` does not know; `activations` it knows."""
    if spec.hidden_act not in activations:
        raise UnsupportedError(
            "The {executor} executor does not implement hidden_act {hidden_act!r}.",
            executor=executor,
            hidden_act=spec.hidden_act,
        )
    for field in fields(spec):
        value = getattr(spec, field.name)
        is_default = field.default is MISSING or value == field.default
        if not is_default and field.name not in _HONOURED:
            raise UnsupportedError(
                "The {executor} executor does not implement {field}={value!r}.",
                executor=executor,
                field=field.name,
                value=value,
            )
