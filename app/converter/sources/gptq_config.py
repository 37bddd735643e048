"""What a GPTQ declaration says: bits, groups and layout, for the folder and for each linear.

Keys: gptqmodel:quantization/config.py; AutoGPTQ:auto_gptq/quantization/config.py; GPTQ folders of
AutoRound say `provider` or `autoround_version` (auto_round:export/export_to_autogptq/export.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any, NamedTuple

from app.converter.sources.linear_format import Declaration
from app.core.errors import InvalidSourceError, UnsupportedError

ROW = -1  # the group size that means the whole row
_MAX_BITS = 8
_PLANAR_ONLY = (5, 6, 7)  # GPTQModel has no other layout for these
_REFUSED_FEATURES = ("rotation", "adapter", "activation")


class Writer(Enum):
    """Whose habits explain what the label leaves open."""

    GPTQMODEL = auto()
    AUTO_ROUND = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class LinearSettings:
    """One linear: `sym` None where nobody says; `is_planar`: bit planes, not one bitstream."""

    bits: int
    group_size: int
    sym: bool | None
    is_planar: bool
    stores_zero_less_one: bool


class Rule(NamedTuple):
    """Overrides for the linears whose name `matches`; None: they are not quantized."""

    matches: Callable[[str], object]
    overrides: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class GptqSettings:
    """A whole folder: the first rule that matches a linear's name overrides `table` for it."""

    where: str
    table: Mapping[str, Any]
    label: str
    writer: Writer
    version: tuple[int, ...]  # of GPTQModel, (0,) when another wrote the folder
    rules: tuple[Rule, ...] = ()

    def of_linear(self, stem: str) -> LinearSettings | None:
        """What holds for the linear `stem`; None where a rule leaves it dense."""
        for rule in self.rules:
            if rule.matches(stem):
                return None if rule.overrides is None else self._merge(rule.overrides)
        return self._merge({})

    def _merge(self, overrides: Mapping[str, Any]) -> LinearSettings:
        table = {**self.table, **overrides}
        bits = _read_bits(table, self.where)
        is_planar = self.label == "gptq_p" or (
            bits in _PLANAR_ONLY and self.writer is not Writer.AUTO_ROUND
        )
        sym = table.get("sym")
        return LinearSettings(
            bits=bits,
            group_size=_read_group_size(table, self.where),
            sym=sym if isinstance(sym, bool) else None,
            is_planar=is_planar,
            stores_zero_less_one=self.label == "gptq" and not is_planar,
        )


def read_settings(declaration: Declaration, name: str) -> GptqSettings:
    """The settings of folder `name`.

    Raises UnsupportedError for layouts and features refused by name, InvalidSourceError for values
    that cannot be meant.
    """
    table = declaration.table
    _check_features(table, name)
    writer, version = _read_writer(table)
    settings = GptqSettings(declaration.where, table, _read_label(table, name), writer, version)
    settings.of_linear("")  # the folder's own values, before any linear asks
    return replace(settings, rules=tuple(_iter_rules(table.get("dynamic"), declaration.where)))


def compile_rule(pattern: str, where: str) -> re.Pattern[str]:
    """A rule's regular expression; InvalidSourceError when it is none."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise InvalidSourceError(
            "{where} holds {pattern!r}, which is not a regular expression.",
            where=where,
            pattern=pattern,
            detail=str(error),
        ) from error


def _read_label(table: Mapping[str, Any], name: str) -> str:
    given = {str(table[key]).lower() for key in ("checkpoint_format", "format") if table.get(key)}
    if table.get("is_marlin_format"):
        given.add("marlin")
    for label in sorted(given - {"gptq", "gptq_v2", "gptq_p"}):
        raise UnsupportedError(
            "{name}: GPTQ in the layout {label} is not supported.", name=name, label=label
        )
    if len(given) > 1:
        raise InvalidSourceError(
            "{name}: its GPTQ layout is said to be both {given}.",
            name=name,
            given=", ".join(sorted(given)),
        )
    return given.pop() if given else "gptq"


def _check_features(table: Mapping[str, Any], name: str) -> None:
    for feature in _REFUSED_FEATURES:
        if table.get(feature):
            raise UnsupportedError(
                "{name}: GPTQ with {feature} is not supported.", name=name, feature=feature
            )
    words = str(table.get("pack_dtype") or "int32").removeprefix("torch.")
    if words != "int32":
        raise UnsupportedError(
            "{name}: GPTQ packed into {words} words is not supported.", name=name, words=words
        )


def _read_writer(table: Mapping[str, Any]) -> tuple[Writer, tuple[int, ...]]:
    if table.get("provider") == "auto-round" or "autoround_version" in table:
        return Writer.AUTO_ROUND, (0,)
    meta = table.get("meta")
    quantizers = meta.get("quantizer") if isinstance(meta, Mapping) else None
    for quantizer in quantizers if isinstance(quantizers, list) else [quantizers]:
        program, _, version = str(quantizer).lower().partition(":")
        if program == "gptqmodel":
            return Writer.GPTQMODEL, tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    return Writer.OTHER, (0,)


def _read_bits(table: Mapping[str, Any], where: str) -> int:
    bits = _first(table, ("bits", "wbits", "w_bit"))
    if type(bits) is not int or not 2 <= bits <= _MAX_BITS:
        raise InvalidSourceError(
            "{where} gives {bits!r} as the bits, not a number from 2 to 8.", where=where, bits=bits
        )
    return bits


def _read_group_size(table: Mapping[str, Any], where: str) -> int:
    group_size = _first(table, ("group_size", "q_group_size"))
    if type(group_size) is not int or (group_size < 1 and group_size != ROW):
        raise InvalidSourceError(
            "{where} gives {group_size!r} as the group size.", where=where, group_size=group_size
        )
    return group_size


def _first(table: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next((table[key] for key in keys if table.get(key) is not None), None)


def _iter_rules(dynamic: Any, where: str) -> Iterator[Rule]:
    """GPTQModel's `dynamic`: "-:regex" leaves dense, "+:regex" or "regex" overrides."""
    if not dynamic:
        return
    if not isinstance(dynamic, Mapping):
        raise InvalidSourceError("{where} has a `dynamic` that is not a JSON object.", where=where)
    for key, value in dynamic.items():
        pattern = compile_rule(key[2:] if key[:2] in ("-:", "+:") else key, where)
        overrides = value if isinstance(value, Mapping) else {}
        yield Rule(pattern.match, None if key.startswith("-:") else overrides)
