"""How a model is computed, in the field's short form."""

from __future__ import annotations

from app.checkpoint.manifest import LinearRecord, Manifest

_ACTIVATION_BITS = {"int8": 8, "fp16": 16, "fp32": 32}
_DENSE_BITS = {"float32": 32, "float16": 16, "bfloat16": 16}
_VOCABULARY = ("embed_tokens", "lm_head")  # mostly of more bits, and no part of the layers


def precision_label(manifest: Manifest, activations: str) -> str:
    """`W4A8`, `W3/4A8`, `W16A32`: bits of the layers' weights and of their other factor.

    Dense weights meet floats even where int8 `activations` are asked for.
    """
    layers = [record for name, record in manifest.linears.items() if name not in _VOCABULARY]
    is_quantized = any(record.quant is not None for record in layers)
    bits = "/".join(map(str, sorted({_weight_bits(record) for record in layers})))
    met = activations if is_quantized or activations != "int8" else "fp32"
    return f"W{bits}A{_ACTIVATION_BITS[met]}"


def _weight_bits(record: LinearRecord) -> int:
    return record.quant.bits if record.quant is not None else _DENSE_BITS[record.dtype or "float32"]
