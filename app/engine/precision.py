"""How a model is computed, in the field's short form."""

from __future__ import annotations

from app.checkpoint.bits_label import bits_label, layer_records
from app.checkpoint.manifest import Manifest

_ACTIVATION_BITS = {"int8": 8, "fp16": 16, "fp32": 32}


def precision_label(manifest: Manifest, activations: str) -> str:
    """`W4A8`, `W3/4A8`, `W16A32`: bits of the layers' weights and of their other factor.

    Dense weights meet floats even where int8 `activations` are asked for, and are halfs themselves
    where activations are (a card).
    """
    is_quantized = any(record.quant is not None for record in layer_records(manifest))
    met = activations if is_quantized or activations != "int8" else "fp32"
    weights = "W16" if met == "fp16" and not is_quantized else bits_label(manifest)
    return f"{weights}A{_ACTIVATION_BITS[met]}"
