"""The rotary embedding of a GGUF file: scaling keys, and the `rope_freqs.weight` table.

llama.cpp stores Llama 3.1's frequency rule not as parameters but as its result, one divisor per
frequency (llama.cpp:conversion/llama.py). A table that the rule reproduces becomes the rule again;
any other is kept as it is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from app.core.errors import InvalidSourceError
from app.spec.gguf_metadata import GgufMetadata

# The parameters that llama.cpp's converter assumes, and every Llama 3.x release has.
_LLAMA3 = {
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
_DEFAULT_THETA = 10000.0
_TABLE_TOLERANCE = 1e-6


def rope_parameters(
    reader: GgufMetadata, head_dim: int, rope_freqs: npt.NDArray[np.float32] | None
) -> dict[str, Any]:
    """Hugging Face's `rope_parameters`; UnsupportedError for a scaling type that is not known."""
    theta = reader.number("rope.freq_base", _DEFAULT_THETA)
    scaling = _scaling(reader)
    if rope_freqs is None or _is_neutral(reader, head_dim, rope_freqs):
        return {"rope_theta": theta, **scaling}
    if scaling["rope_type"] != "default":
        raise reader.refuse(
            "rope.scaling.type", f"{scaling['rope_type']!r} together with rope_freqs.weight"
        )
    return {"rope_theta": theta, **_table(theta, head_dim, rope_freqs)}


def llama3_divisors(theta: float, head_dim: int, factor: float) -> npt.NDArray[np.float64]:
    """What llama.cpp stores for type llama3: [head_dim / 2], from 1 (fast) to `factor` (slow)."""
    frequencies = theta ** -(np.arange(0, head_dim, 2) / head_dim)
    turns = _LLAMA3["original_max_position_embeddings"] * frequencies / (2 * math.pi)
    low, high = _LLAMA3["low_freq_factor"], _LLAMA3["high_freq_factor"]
    smooth = np.clip((turns - low) / (high - low), 0, 1)
    return np.asarray(1 / ((1 - smooth) / factor + smooth))


def _is_neutral(reader: GgufMetadata, head_dim: int, rope_freqs: npt.NDArray[np.float32]) -> bool:
    if rope_freqs.shape != (head_dim // 2,):
        raise InvalidSourceError(
            f"{reader.file}: rope_freqs.weight has shape {list(rope_freqs.shape)}, "
            f"head_dim {head_dim} needs [{head_dim // 2}]."
        )
    if not (np.isfinite(rope_freqs).all() and (rope_freqs > 0).all()):
        raise InvalidSourceError(
            f"{reader.file}: rope_freqs.weight holds a divisor that is not positive."
        )
    return bool((rope_freqs == 1).all())


def _table(theta: float, head_dim: int, rope_freqs: npt.NDArray[np.float32]) -> dict[str, Any]:
    factor = float(rope_freqs[-1])
    expected = llama3_divisors(theta, head_dim, factor)
    if np.allclose(rope_freqs, expected, rtol=_TABLE_TOLERANCE, atol=0):
        return {"rope_type": "llama3", "factor": factor, **_LLAMA3}
    frequencies = theta ** -(np.arange(0, head_dim, 2) / head_dim) / rope_freqs.astype(np.float64)
    return {
        "rope_type": "table",
        "inv_freq": [float(value) for value in frequencies.astype(np.float32)],
    }


def _scaling(reader: GgufMetadata) -> dict[str, Any]:
    kind = reader.text("rope.scaling.type", "none")
    factor = reader.number("rope.scaling.factor", None)
    original = reader.integer("rope.scaling.original_context_length", None)
    legacy = reader.number("rope.scale_linear", None)
    yarn = {
        name: reader.number(f"rope.scaling.{name}", None)
        for name in ("yarn_beta_fast", "yarn_beta_slow")
    }
    if kind == "none" and legacy not in (None, 1.0):
        kind, factor = "linear", legacy
    match kind:
        case "none":
            return {"rope_type": "default"}
        case "linear":
            return {"rope_type": "linear", "factor": _required(reader, factor)}
        case "yarn":
            return {"rope_type": "yarn", "factor": _required(reader, factor)} | _yarn_fields(
                yarn, original
            )
    raise reader.refuse("rope.scaling.type", f"{kind!r} is not supported")


def _required(reader: GgufMetadata, factor: float | None) -> float:
    if factor is None or factor <= 0:
        raise InvalidSourceError(
            f"{reader.file}: the metadata has a rope.scaling.type but no usable factor."
        )
    return factor


def _yarn_fields(yarn: dict[str, float | None], original: int | None) -> dict[str, Any]:
    fields: dict[str, Any] = {
        key.removeprefix("yarn_"): value for key, value in yarn.items() if value is not None
    }
    return fields | ({} if original is None else {"original_max_position_embeddings": original})
