"""AutoRound folders: one way of quantizing, stored in the layout of another format.

`packing_format` (auto_round:export/export_to_autoround/export.py), `backend` in old folders, says
which: `auto_round:auto_gptq` stores zero points less one as GPTQ's first version does, `auto_round`
and `auto_round:gptqmodel` store them as they are, `auto_round:auto_awq` is AWQ's gemm. 5, 6 and 7
bits are one bitstream here, not GPTQModel's planes. What AutoRound exports as `gptq`, `awq`,
`compressed-tensors` or for MLX says so itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from app.converter.sources import awq
from app.converter.sources.gptq import create_gptq
from app.converter.sources.gptq_config import GptqSettings, Rule, Writer, compile_rule
from app.converter.sources.linear_format import Declaration, Folder, LinearFormat
from app.core.errors import InvalidSourceError, UnsupportedError

NAME = "auto-round"
_DENSE_BITS = 16
_LAYOUTS = ("auto_round", "gptq", "awq")  # the words that a known `packing_format` holds
_REFUSED_WORDS = ("fp", "gguf", "llm_compressor", "mlx")


def from_folder(declaration: Declaration, folder: Folder) -> LinearFormat:
    """Raises UnsupportedError for layouts and data types refused by name."""
    table = declaration.table
    layout = str(table.get("packing_format") or table.get("backend") or "auto_round").lower()
    _check_features(table, layout, folder.name)
    routed = _route(layout, declaration, folder)
    routed.name = NAME
    return routed


def _route(layout: str, declaration: Declaration, folder: Folder) -> LinearFormat:
    if "awq" in layout:
        table = {**declaration.table, "version": "gemm"}
        return awq.from_folder(Declaration("awq", table, declaration.where), folder)
    less_one = "gptq" in layout and "gptqmodel" not in layout
    settings = GptqSettings(
        where=declaration.where,
        table=declaration.table,
        label="gptq" if less_one else "gptq_v2",
        writer=Writer.AUTO_ROUND,
        version=(0,),
        rules=tuple(_iter_rules(declaration.table.get("extra_config"), declaration.where)),
    )
    return create_gptq(settings, folder)


def _check_features(table: Mapping[str, Any], layout: str, name: str) -> None:
    known = any(word in layout for word in _LAYOUTS)
    if not known or any(word in layout for word in _REFUSED_WORDS):
        raise UnsupportedError(
            "{name}: AutoRound's layout {layout} is not supported.", name=name, layout=layout
        )
    data_type = str(table.get("data_type") or "int")
    if not data_type.startswith("int") or table.get("super_bits"):
        raise UnsupportedError(
            "{name}: AutoRound's data type {data_type} is not supported.",
            name=name,
            data_type=data_type,
        )
    act_bits = table.get("act_bits")
    if isinstance(act_bits, int) and act_bits < _DENSE_BITS:
        raise UnsupportedError(
            "{name}: AutoRound with {act_bits}-bit inputs is not supported.",
            name=name,
            act_bits=act_bits,
        )
    if table.get("rotation_config"):
        raise UnsupportedError("{name}: AutoRound with rotation is not supported.", name=name)


def _iter_rules(extra: Any, where: str) -> Iterator[Rule]:
    """Full names first, then the same keys as regular expressions, found anywhere in a name."""
    if not extra:
        return
    if not isinstance(extra, Mapping) or not all(isinstance(v, Mapping) for v in extra.values()):
        raise InvalidSourceError(
            "{where} has an `extra_config` that is not one of objects.", where=where
        )
    for key, overrides in extra.items():
        yield Rule(key.__eq__, _overrides(overrides))
    for key, overrides in extra.items():
        yield Rule(compile_rule(key, where).search, _overrides(overrides))


def _overrides(values: Mapping[str, Any]) -> Mapping[str, Any] | None:
    bits = values.get("bits")
    is_dense = isinstance(bits, int) and bits >= _DENSE_BITS
    return None if is_dense else {key: value for key, value in values.items() if value is not None}
