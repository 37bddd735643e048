"""How many bits a checkpoint's weights have, in the field's short form."""

from __future__ import annotations

from app.checkpoint.manifest import LinearRecord, Manifest

_DENSE_BITS = {"float32": 32, "float16": 16, "bfloat16": 16}
_VOCABULARY = ("embed_tokens", "lm_head")  # mostly of more bits, and no part of the layers


def bits_label(manifest: Manifest) -> str:
    """`W4`, `W3/4`, `W16`: bits of the layers' weights."""
    bits = sorted({_weight_bits(record) for record in layer_records(manifest)})
    return f"W{'/'.join(map(str, bits))}"


def layer_records(manifest: Manifest) -> tuple[LinearRecord, ...]:
    """All linears but those of the vocabulary."""
    return tuple(r for name, r in manifest.linears.items() if name not in _VOCABULARY)


def _weight_bits(record: LinearRecord) -> int:
    return record.quant.bits if record.quant is not None else _DENSE_BITS[record.dtype or "float32"]
