"""The rotary embedding of a GGUF file: scaling keys, and tables of divisors among the tensors.

llama.cpp stores Llama 3.1's frequency rule not as parameters but as its result, one divisor per
frequency (llama.cpp:conversion/llama.py). A table that the rule reproduces becomes the rule again;
any other is kept as it is. Longrope's two tables (conversion/phi.py) are its parameters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from app.core.errors import InvalidSourceError
from app.core.sentence import Sentence
from app.spec.gguf_metadata import GgufMetadata

# The parameters that llama.cpp's converter assumes, and every Llama 3.x release has.
_LLAMA3 = {
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
ROPE_FREQS = "rope_freqs.weight"
LONG_FACTORS, SHORT_FACTORS = "rope_factors_long.weight", "rope_factors_short.weight"
ROPE_TABLES = (ROPE_FREQS, LONG_FACTORS, SHORT_FACTORS)
# The converter's own words for Hugging Face's (conversion/base.py).
_YARN_KEYS = {
    "yarn_beta_fast": "beta_fast",
    "yarn_beta_slow": "beta_slow",
    "yarn_attn_factor": "attention_factor",
}
_DEFAULT_THETA = 10000.0
_TABLE_TOLERANCE = 1e-6


def rope_parameters(
    reader: GgufMetadata,
    head_dim: int,
    rotary_dim: int,
    tables: Mapping[str, npt.NDArray[np.float32]],
) -> dict[str, Any]:
    """Hugging Face's `rope_parameters`; UnsupportedError for a scaling type that is not known.

    `tables`: those of ROPE_TABLES that the file has, divisors of frequencies [rotary_dim / 2].
    """
    for name, table in tables.items():
        _check_table(reader.file, name, table, rotary_dim)
    theta = reader.number("rope.freq_base", _DEFAULT_THETA)
    parameters = {"rope_theta": theta, **_scaling(reader)}
    if rotary_dim != head_dim:
        parameters["partial_rotary_factor"] = _share(rotary_dim, head_dim)
    if LONG_FACTORS in tables or SHORT_FACTORS in tables:
        return parameters | _longrope(reader, parameters["rope_type"], tables)
    rope_freqs = tables.get(ROPE_FREQS)
    if rope_freqs is None or (rope_freqs == 1).all():
        return parameters
    if parameters["rope_type"] != "default":
        raise reader.refuse(
            "rope.scaling.type",
            Sentence(
                "{rope_type!r} together with rope_freqs.weight", rope_type=parameters["rope_type"]
            ),
        )
    return parameters | _table(theta, rotary_dim, rope_freqs)


def llama3_divisors(theta: float, head_dim: int, factor: float) -> npt.NDArray[np.float64]:
    """What llama.cpp stores for type llama3: [head_dim / 2], from 1 (fast) to `factor` (slow)."""
    frequencies = theta ** -(np.arange(0, head_dim, 2) / head_dim)
    turns = _LLAMA3["original_max_position_embeddings"] * frequencies / (2 * math.pi)
    low, high = _LLAMA3["low_freq_factor"], _LLAMA3["high_freq_factor"]
    smooth = np.clip((turns - low) / (high - low), 0, 1)
    return np.asarray(1 / ((1 - smooth) / factor + smooth))


def _check_table(file: str, name: str, table: npt.NDArray[np.float32], rotary_dim: int) -> None:
    if table.shape != (rotary_dim // 2,):
        raise InvalidSourceError(
            "{file}: {name} has shape {shape}, {rotary_dim} rotary dimensions need [{num_wanted}].",
            file=file,
            name=name,
            shape=list(table.shape),
            rotary_dim=rotary_dim,
            num_wanted=rotary_dim // 2,
        )
    if not (np.isfinite(table).all() and (table > 0).all()):
        raise InvalidSourceError(
            "{file}: {name} holds a divisor that is not positive.", file=file, name=name
        )


def _share(rotary_dim: int, head_dim: int) -> float:
    """The `partial_rotary_factor` for which int(head_dim * factor) is `rotary_dim`."""
    share = rotary_dim / head_dim
    return share if int(head_dim * share) == rotary_dim else math.nextafter(share, 1)


def _longrope(
    reader: GgufMetadata, rope_type: str, tables: Mapping[str, npt.NDArray[np.float32]]
) -> dict[str, Any]:
    if LONG_FACTORS not in tables or SHORT_FACTORS not in tables:
        raise InvalidSourceError(
            "{file}: only one of {long}, {short}.",
            file=reader.file,
            long=LONG_FACTORS,
            short=SHORT_FACTORS,
        )
    if rope_type not in ("default", "longrope"):
        raise reader.refuse(
            "rope.scaling.type",
            Sentence("{rope_type!r} together with {long}", rope_type=rope_type, long=LONG_FACTORS),
        )
    return {
        "rope_type": "longrope",
        "long_factor": _floats(tables[LONG_FACTORS]),
        "short_factor": _floats(tables[SHORT_FACTORS]),
        "attention_factor": reader.number("rope.scaling.attn_factor", 1.0),
        "original_max_position_embeddings": reader.integer("rope.scaling.original_context_length"),
    }


def _floats(table: npt.NDArray[np.float32]) -> list[float]:
    return [float(str(value)) for value in table]


def _table(theta: float, rotary_dim: int, rope_freqs: npt.NDArray[np.float32]) -> dict[str, Any]:
    factor = float(rope_freqs[-1])
    expected = llama3_divisors(theta, rotary_dim, factor)
    if np.allclose(rope_freqs, expected, rtol=_TABLE_TOLERANCE, atol=0):
        return {"rope_type": "llama3", "factor": factor, **_LLAMA3}
    frequencies = theta ** -(np.arange(0, rotary_dim, 2) / rotary_dim) / rope_freqs.astype(
        np.float64
    )
    return {
        "rope_type": "table",
        "inv_freq": [float(value) for value in frequencies.astype(np.float32)],
    }


def _scaling(reader: GgufMetadata) -> dict[str, Any]:
    kind = reader.text("rope.scaling.type", "none")
    factor = reader.number("rope.scaling.factor", None)
    original = reader.integer("rope.scaling.original_context_length", None)
    legacy = reader.number("rope.scale_linear", None)
    yarn = {name: reader.number(f"rope.scaling.{key}", None) for key, name in _YARN_KEYS.items()}
    if reader.number("rope.scaling.yarn_ext_factor", 1.0) != 1:
        raise reader.refuse("rope.scaling.yarn_ext_factor", Sentence("only 1 is supported"))
    if kind == "none" and legacy not in (None, 1.0):
        kind, factor = "linear", legacy
    match kind:
        case "none" | "longrope":  # longrope's parameters are tensors
            return {"rope_type": "default" if kind == "none" else kind}
        case "linear":
            return {"rope_type": "linear", "factor": _required(reader, factor)}
        case "yarn":
            return {"rope_type": "yarn", "factor": _required(reader, factor)} | _yarn_fields(
                yarn, original
            )
    raise reader.refuse("rope.scaling.type", Sentence("{kind!r} is not supported", kind=kind))


def _required(reader: GgufMetadata, factor: float | None) -> float:
    if factor is None or factor <= 0:
        raise InvalidSourceError(
            "{file}: the metadata has a rope.scaling.type but no usable factor.", file=reader.file
        )
    return factor


def _yarn_fields(yarn: dict[str, float | None], original: int | None) -> dict[str, Any]:
    fields: dict[str, Any] = {name: value for name, value in yarn.items() if value is not None}
    return fields | ({} if original is None else {"original_max_position_embeddings": original})
