"""Where a Hugging Face folder says how it is quantized, and what its tensors say of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from app.converter.sources.hf_folder import StoredArray, read_json
from app.converter.sources.linear_format import Declaration
from app.core.errors import InvalidSourceError

# MLX repeats its "quantization" as a quantization_config without a method, and reads the former.
_CONFIG_KEYS = ("quantization", "quantization_config", "compression_config")
_SIDECARS = {
    "quantize_config.json": "gptq",
    "quant_config.json": "awq",
    "hf_quant_config.json": "modelopt",
}
# A tensor's last name and dtype, and the kind of format that alone stores such tensors.
_EVIDENCE: tuple[tuple[str, str | None, str], ...] = (
    (".qweight", "int16", "int16 .qweight"),
    (".qweight", None, ".qweight"),
    (".weight_packed", None, ".weight_packed"),
    (".weight_scale_inv", None, ".weight_scale_inv"),
    (".weight_scale_2", None, ".weight_scale_2"),
    (".weight_scale", None, ".weight_scale"),
    (".quant_state.bitsandbytes__nf4", None, ".quant_state"),
    (".quant_state.bitsandbytes__fp4", None, ".quant_state"),
    (".SCB", None, ".SCB"),
    (".W_q", None, ".W_q"),
    (".q_weight", None, ".q_weight"),
    (".trellis", None, ".trellis"),
    (".weight", "uint32", "uint32 .weight"),
    ("_blocks", "uint8", "_blocks"),
    (".B", "int32", ".B"),
)


def read_declaration(config: Mapping[str, Any], path: Path) -> Declaration | None:
    """The quantization that config.json, a nested text_config or a sidecar file declares.

    Raises InvalidSourceError when a declaration is not a JSON object.
    """
    for where, table, default in _iter_tables(config, path):
        if not isinstance(table, dict):
            raise InvalidSourceError(
                "{name}: {where} is not a JSON object.", name=path.name, where=where
            )
        method = table.get("quant_method") or table.get("method") or default
        # AutoRound's first releases wrote their repository's name.
        return Declaration(str(method).lower().removeprefix("intel/"), table, where)
    return None


def _iter_tables(config: Mapping[str, Any], path: Path) -> Iterator[tuple[str, Any, str]]:
    nested = config.get("text_config")
    for prefix, table in (("", config), ("text_config.", nested)):
        for key in _CONFIG_KEYS:
            if isinstance(table, Mapping) and table.get(key):
                yield prefix + key, table[key], "mlx" if key == "quantization" else "unknown"
    for name, method in _SIDECARS.items():
        if (path / name).is_file():
            yield name, read_json(path / name), method


def quantized_evidence(tensors: Iterable[StoredArray]) -> set[str]:
    """The kinds of tensors found that only a quantized linear has, in words for a message."""
    return {kind for array in tensors for kind in _kinds(array)}


def _kinds(array: StoredArray) -> Iterator[str]:
    for suffix, dtype, kind in _EVIDENCE:
        if array.name.endswith(suffix) and dtype in (None, str(array.dtype)):
            yield kind
            return
