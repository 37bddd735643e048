"""Reads a configuration's rotary embedding in both of Hugging Face's spellings into a RopeSpec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.core.errors import UnsupportedError
from app.core.sentence import Sentence
from app.spec.config_reader import ConfigReader
from app.spec.layer_type import LayerType
from app.spec.rope import RopeSpec, RopeType

_ALIASES = {"su": RopeType.LONGROPE, "none": RopeType.DEFAULT}


@dataclass(frozen=True, slots=True)
class RopeFacts:
    """What a family knows of its rope before reading a configuration."""

    head_dim: int
    default_theta: float | None
    partial_rotary: bool = False
    default_partial_rotary_factor: float = 1.0
    default_sliding_theta: float | None = None
    ignored_keys: tuple[str, ...] = ()


def read_rope(config: ConfigReader, facts: RopeFacts) -> RopeSpec:
    """The rope of `config`: v5 `rope_parameters`, or v4 `rope_theta` + `rope_scaling`.

    Raises UnsupportedError when neither is present and the family has no default, when both
    disagree, and for a type or parameter that is not known.
    """
    parameters = config.table("rope_parameters")
    if _is_nested(parameters):
        raise UnsupportedError(
            "rope_parameters differ per layer type, which this model family does not know."
        )
    return _read(config, _merged_parameters(config, parameters, facts), facts)


def read_ropes(config: ConfigReader, facts: RopeFacts) -> tuple[RopeSpec, RopeSpec | None]:
    """The ropes of full and of sliding layers; the second is None where it is the first.

    v5 nests `rope_parameters` per layer type. v4 says one rope, whose scaling is not meant for
    sliding layers, and may say `rope_local_base_freq`, their theta.
    """
    parameters = config.table("rope_parameters")
    local_theta = config.number("rope_local_base_freq", facts.default_sliding_theta)
    if parameters is not None and _is_nested(parameters):
        kinds = (str(LayerType.FULL), str(LayerType.SLIDING))
        if unknown := sorted(parameters.keys() - set(kinds)):
            raise UnsupportedError(
                "rope_parameters: {name!r} is no known layer type.", name=unknown[0]
            )
        full = _read_kind(config, parameters, kinds[0], facts)
        local_facts = replace(facts, default_theta=local_theta or facts.default_theta)
        sliding = _read_kind(config, parameters, kinds[1], local_facts)
    else:
        full = _read(config, _merged_parameters(config, parameters, facts), facts)
        # As an unscaled rope of their own would be read.
        positions = config.count("max_position_embeddings")
        trained = config.count("original_max_position_embeddings", positions)
        sliding = RopeSpec(
            full.dim, theta=local_theta or full.theta, original_max_position_embeddings=trained
        )
    return full, None if sliding == full else sliding


def _read_kind(
    config: ConfigReader, parameters: Mapping[str, Any], kind: str, facts: RopeFacts
) -> RopeSpec:
    own = parameters.get(kind)
    if not isinstance(own, dict):
        raise UnsupportedError("rope_parameters say nothing of {kind} layers.", kind=kind)
    return _read(config, _merged_parameters(config, own, facts), facts)


def _is_nested(parameters: Mapping[str, Any] | None) -> bool:
    return any(isinstance(value, dict) for value in (parameters or {}).values())


def _read(config: ConfigReader, parameters: dict[str, Any], facts: RopeFacts) -> RopeSpec:
    max_positions = config.count("max_position_embeddings")
    original = config.count("original_max_position_embeddings", None)
    reader = ConfigReader(parameters, where=Sentence("The rope configuration"))
    rope = _read_parameters(reader, _rotary_dim(reader, facts), max_positions, original)
    reader.finish(ignored=("rope_type", "type", "finetuned", *facts.ignored_keys))
    return rope.validate()


def _merged_parameters(
    config: ConfigReader, new: Mapping[str, Any] | None, facts: RopeFacts
) -> dict[str, Any]:
    """One dict with `rope_type`, `rope_theta` ..., whichever spelling the configuration uses."""
    scaling, theta = config.table("rope_scaling"), config.number("rope_theta", None)
    merged = dict(new if new is not None else scaling or {})
    merged["rope_type"] = _type_name(merged)
    if new is not None and scaling is not None and _type_name(scaling) != merged["rope_type"]:
        raise UnsupportedError("rope_parameters and rope_scaling name different rope types.")
    merged["rope_theta"] = _agreed(merged, "rope_theta", theta, facts.default_theta)
    if merged["rope_theta"] is None:
        raise UnsupportedError("The configuration has neither rope_parameters nor rope_theta.")
    if facts.partial_rotary:
        outer = config.number("partial_rotary_factor", None)
        default = facts.default_partial_rotary_factor
        merged["partial_rotary_factor"] = _agreed(merged, "partial_rotary_factor", outer, default)
    return merged


def _agreed(
    parameters: Mapping[str, Any], name: str, outer: float | None, default: float | None
) -> Any:
    """The value said inside or outside `rope_parameters`; refused when both differ."""
    inner = parameters.get(name)
    if inner is not None and outer is not None and float(inner) != outer:
        raise UnsupportedError(
            "rope_parameters.{name} is {inner}, but {name} is {outer}.",
            name=name,
            inner=inner,
            outer=outer,
        )
    return next((value for value in (inner, outer, default) if value is not None), None)


def _type_name(parameters: dict[str, Any]) -> str:
    return str(parameters.get("rope_type", parameters.get("type", "default")))


def _read_parameters(
    reader: ConfigReader, rotary_dim: int, max_positions: int, original: int | None
) -> RopeSpec:
    rope_type = _rope_type(reader.text("rope_type"))
    trained = _trained_length(reader, rope_type, original) or max_positions
    return RopeSpec(
        dim=rotary_dim,
        rope_type=rope_type,
        theta=reader.number("rope_theta"),
        factor=_factor(reader, rope_type, max_positions / trained),
        # Dynamic scaling stretches the configured length, whatever else the configuration says.
        original_max_position_embeddings=max_positions
        if rope_type is RopeType.DYNAMIC
        else trained,
        **_type_parameters(reader, rope_type),
    )


def _trained_length(reader: ConfigReader, rope_type: RopeType, outer: int | None) -> int | None:
    """Said inside (`reader`) or outside the rope's parameters; None where nobody says it."""
    inner = reader.count("original_max_position_embeddings", None)
    if inner is not None and outer is not None and inner != outer:
        raise UnsupportedError(
            "The rope's original_max_position_embeddings is {inner}, the model's {outer}.",
            inner=inner,
            outer=outer,
        )
    found: int | None = outer if inner is None else inner
    if found is None and rope_type is RopeType.LONGROPE:
        raise UnsupportedError("Rope type longrope needs original_max_position_embeddings.")
    return found


def _rope_type(name: str) -> RopeType:
    try:
        return _ALIASES.get(name) or RopeType(name)
    except ValueError:
        raise UnsupportedError("Rope type {name!r} is not implemented.", name=name) from None


def _rotary_dim(reader: ConfigReader, facts: RopeFacts) -> int:
    """Columns of a head that rotate: int(head_dim * share), as transformers rounds it."""
    share = reader.number("partial_rotary_factor", 1.0)
    if share != 1.0 and not facts.partial_rotary:
        raise UnsupportedError("partial_rotary_factor {share} is not implemented.", share=share)
    if share == 1.0:
        return facts.head_dim
    dim = int(facts.head_dim * share)
    if not 0 < dim <= facts.head_dim or dim % 2:
        raise UnsupportedError(
            "partial_rotary_factor {share} of head_dim {head_dim} is no even dimension.",
            share=share,
            head_dim=facts.head_dim,
        )
    return dim


def _factor(reader: ConfigReader, rope_type: RopeType, stretched: float) -> float:
    if rope_type in (RopeType.DEFAULT, RopeType.TABLE):
        return 1.0
    default = stretched if rope_type in (RopeType.LONGROPE, RopeType.YARN) else None
    factor = reader.number("factor", default)
    if factor is None:
        raise UnsupportedError("Rope type {rope_type} needs a factor.", rope_type=rope_type)
    return float(factor)


def _type_parameters(reader: ConfigReader, rope_type: RopeType) -> dict[str, Any]:
    match rope_type:
        case RopeType.LLAMA3:
            return {name: reader.number(name) for name in ("low_freq_factor", "high_freq_factor")}
        case RopeType.YARN:
            return {
                "attention_factor": reader.number("attention_factor", None),
                "beta_fast": reader.number("beta_fast", 32.0),
                "beta_slow": reader.number("beta_slow", 1.0),
                "mscale": reader.number("mscale", None),
                "mscale_all_dim": reader.number("mscale_all_dim", None),
                "truncate": reader.flag("truncate", True),
            }
        case RopeType.LONGROPE:
            return {
                "attention_factor": reader.number("attention_factor", None),
                "short_factor": reader.numbers("short_factor"),
                "long_factor": reader.numbers("long_factor"),
            }
        case RopeType.TABLE:
            return {"inv_freq": reader.numbers("inv_freq")}
        case _:
            return {}
