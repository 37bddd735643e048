"""What a compressed-tensors declaration says of each linear.

compressed-tensors:quantization/{quant_config,quant_scheme,quant_args}.py, config/base.py. `ignore`
is not read: its entries may name parents, other prefixes or fused modules, so the stored tensors
alone tell which linears are quantized.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from app.converter.sources.linear_format import Declaration
from app.core.errors import InvalidSourceError, UnsupportedError
from app.core.sentence import Sentence

_INTEGER = ("pack-quantized", "int-quantized", "naive-quantized")
_FLOAT = ("float-quantized", "naive-quantized", "mxfp8-quantized")
_FLOAT4 = ("nvfp4-pack-quantized", "mxfp4-pack-quantized")
_FORMATS = {*_INTEGER, *_FLOAT, *_FLOAT4}
_UNSAID = {None, "dense", "fakequant", "mixed-precision"}
_STRATEGIES = ("tensor", "channel", "group", "block", "tensor_group")


@dataclass(frozen=True, slots=True)
class WeightScheme:
    """How the weights of some linears are stored.

    `format` is None where the declaration leaves it to the tensors; `has_order` says that columns
    stand out of their groups' order (actorder `group`).
    """

    format: str | None
    bits: int
    is_float: bool
    is_symmetric: bool
    strategy: str
    group_size: int | None
    block: tuple[int, int] | None
    has_order: bool


@dataclass(frozen=True, slots=True)
class _Group:
    targets: tuple[str, ...]
    scheme: WeightScheme


class CompressedTensorsConfig:
    """The schemes by target; `notes` say what of the declaration is not carried over."""

    def __init__(self, declaration: Declaration, name: str) -> None:
        """Raises UnsupportedError for what is refused by name, InvalidSourceError for nonsense."""
        nested = declaration.table.get("quantization_config")
        table = dict(declaration.table) | dict(nested if isinstance(nested, Mapping) else {})
        self._where, self._name = f"{name}: {declaration.where}", name
        _refuse_by_name(table, name)
        groups = table.get("config_groups")
        if not isinstance(groups, Mapping) or not groups:
            raise InvalidSourceError("{where} has no config_groups.", where=self._where)
        self._groups = tuple(self._read_group(g, table.get("format")) for g in groups.values())
        self.notes = tuple(_iter_notes(table, groups))
        self.version = _read_version(table.get("version"))

    def of_linear(self, stem: str) -> WeightScheme:
        """The scheme that targets the linear by name, by pattern or by class, or the only one."""
        ranked = [(_rank(group, stem), index) for index, group in enumerate(self._groups)]
        rank, index = min(ranked)
        if rank == _NO_TARGET and len(self._groups) > 1:
            raise InvalidSourceError(
                "{where} targets {stem} by no group.", where=self._where, stem=stem
            )
        return self._groups[index].scheme

    def _read_group(self, group: Any, default_format: Any) -> _Group:
        weights = group.get("weights") if isinstance(group, Mapping) else None
        if not isinstance(weights, Mapping):
            raise InvalidSourceError("{where} has a group without weights.", where=self._where)
        label = group.get("format") or default_format
        if label not in _FORMATS | _UNSAID:
            raise UnsupportedError(
                "{name}: the format {label} is not supported.", name=self._name, label=label
            )
        targets = tuple(str(target) for target in group.get("targets") or ())
        scheme = self._read_weights(weights, None if label in _UNSAID else label)
        return _Group(targets, scheme)

    def _read_weights(self, weights: Mapping[str, Any], label: str | None) -> WeightScheme:
        bits, group_size = weights.get("num_bits", 8), weights.get("group_size")
        strategy = weights.get("strategy") or _strategy_of(group_size)
        is_float = weights.get("type", "int") == "float"
        sizes = (bits, group_size if strategy in ("group", "tensor_group") else 1)
        if not all(type(size) is int and size > 0 for size in sizes) or bits > 8:
            raise InvalidSourceError(
                "{where} has {bits!r} bits in groups of {group_size!r}.",
                where=self._where,
                bits=bits,
                group_size=group_size,
            )
        if strategy not in _STRATEGIES:
            raise UnsupportedError(
                "{name}: the strategy {strategy} is not supported.",
                name=self._name,
                strategy=strategy,
            )
        return WeightScheme(
            format=label,
            bits=bits,
            is_float=is_float,
            is_symmetric=bool(weights.get("symmetric", True)),
            strategy=strategy,
            group_size=group_size,
            block=self._read_block(weights) if strategy == "block" else None,
            has_order=str(weights.get("actorder")).lower() in ("group", "dynamic", "true"),
        )

    def _read_block(self, weights: Mapping[str, Any]) -> tuple[int, int]:
        block = weights.get("block_structure")
        sizes = block.split("x") if isinstance(block, str) else block
        try:
            rows, columns = (int(size) for size in sizes or ())
        except (TypeError, ValueError):
            rows = columns = 0
        if rows < 1 or columns < 1:
            raise InvalidSourceError(
                "{where} has the block_structure {block!r}.", where=self._where, block=block
            )
        return rows, columns


_NAME, _PATTERN, _CLASS, _NO_TARGET = range(4)


def _rank(group: _Group, stem: str) -> int:
    return min((_rank_target(target, stem) for target in group.targets), default=_NO_TARGET)


def _rank_target(target: str, stem: str) -> int:
    if target in (stem, stem.removeprefix("model.")):
        return _NAME
    if target.startswith("re:"):
        return _PATTERN if _matches(target.removeprefix("re:"), stem) else _NO_TARGET
    kind = "Embedding" if stem.endswith("embed_tokens") else "Linear"
    return _CLASS if target == kind else _NO_TARGET


def _matches(pattern: str, stem: str) -> bool:
    try:
        return re.match(pattern, stem) is not None
    except re.error as error:
        raise InvalidSourceError(
            "The pattern {pattern!r} is none.", pattern=pattern, detail=str(error)
        ) from error


def _strategy_of(group_size: Any) -> str:
    """What compressed-tensors infers from the group size alone."""
    if group_size is None:
        return "tensor"
    return "channel" if group_size == -1 else "group"


def _refuse_by_name(table: Mapping[str, Any], name: str) -> None:
    if table.get("transform_config"):
        raise UnsupportedError(
            "{name}: weights that are rotated at run time are not supported.", name=name
        )
    sparsity = table.get("sparsity_config")
    if isinstance(sparsity, Mapping) and sparsity.get("format", "dense") != "dense":
        raise UnsupportedError(
            "{name}: the format {format} is not supported.", name=name, format=sparsity["format"]
        )


def _iter_notes(table: Mapping[str, Any], groups: Mapping[str, Any]) -> Iterator[str]:
    if any(group.get("input_activations") for group in groups.values()):
        yield Sentence(
            "The source quantizes activations too; here they stay as the executor computes them."
        )
    if table.get("kv_cache_scheme"):
        yield Sentence("The source quantizes its KV cache too; here that is the executor's choice.")


def _read_version(version: Any) -> tuple[int, int] | None:
    """(major, minor) of the release that wrote the folder, None where it does not say."""
    found = re.match(r"(\d+)\.(\d+)", str(version))
    return (int(found[1]), int(found[2])) if found else None
