"""Reads a configuration's rotary embedding in both of Hugging Face's spellings into a RopeSpec."""

from __future__ import annotations

from typing import Any

from app.core.errors import UnsupportedError
from app.spec.config_reader import ConfigReader
from app.spec.rope import RopeSpec, RopeType

_ALIASES = {"su": RopeType.LONGROPE, "none": RopeType.DEFAULT}


def read_rope(config: ConfigReader, head_dim: int, default_theta: float | None) -> RopeSpec:
    """The rope of `config`: v5 `rope_parameters`, or v4 `rope_theta` + `rope_scaling`.

    Raises UnsupportedError when neither is present and the family has no default, when both
    disagree, and for a type or parameter that is not known.
    """
    max_positions = config.integer("max_position_embeddings")
    parameters = _merged_parameters(config, default_theta)
    reader = ConfigReader(parameters, where="The rope configuration")
    rope = _read_parameters(
        reader, head_dim, max_positions, config.integer("original_max_position_embeddings", None)
    )
    reader.finish(ignored=("rope_type", "type", "finetuned"))
    return rope.validate()


def _merged_parameters(config: ConfigReader, default_theta: float | None) -> dict[str, Any]:
    """One dict with `rope_type` and `rope_theta`, whichever spelling the configuration uses."""
    new, scaling, theta = (
        config.table("rope_parameters"),
        config.table("rope_scaling"),
        config.number("rope_theta", None),
    )
    if new is not None and any(isinstance(value, dict) for value in new.values()):
        raise UnsupportedError(
            "rope_parameters differ per layer type, which this model family does not know."
        )
    merged = dict(new if new is not None else scaling or {})
    merged["rope_type"] = _type_name(merged)
    if new is not None and scaling is not None and _type_name(scaling) != merged["rope_type"]:
        raise UnsupportedError("rope_parameters and rope_scaling name different rope types.")
    inner_theta = merged.get("rope_theta")
    if inner_theta is not None and theta is not None and float(inner_theta) != theta:
        raise UnsupportedError(
            f"rope_parameters.rope_theta is {inner_theta}, but rope_theta is {theta}."
        )
    merged["rope_theta"] = next(
        (t for t in (inner_theta, theta, default_theta) if t is not None), None
    )
    if merged["rope_theta"] is None:
        raise UnsupportedError("The configuration has neither rope_parameters nor rope_theta.")
    return merged


def _type_name(parameters: dict[str, Any]) -> str:
    return str(parameters.get("rope_type", parameters.get("type", "default")))


def _read_parameters(
    reader: ConfigReader, head_dim: int, max_positions: int, original: int | None
) -> RopeSpec:
    rope_type = _rope_type(reader.text("rope_type"))
    trained = reader.integer("original_max_position_embeddings", original or max_positions)
    return RopeSpec(
        dim=_rotary_dim(reader, head_dim),
        rope_type=rope_type,
        theta=reader.number("rope_theta"),
        factor=_factor(reader, rope_type, max_positions / trained),
        # Dynamic scaling stretches the configured length, whatever else the configuration says.
        original_max_position_embeddings=max_positions
        if rope_type is RopeType.DYNAMIC
        else trained,
        **_type_parameters(reader, rope_type),
    )


def _rope_type(name: str) -> RopeType:
    try:
        return _ALIASES.get(name) or RopeType(name)
    except ValueError:
        raise UnsupportedError(f"Rope type {name!r} is not implemented.") from None


def _rotary_dim(reader: ConfigReader, head_dim: int) -> int:
    share = reader.number("partial_rotary_factor", 1.0)
    if share != 1.0:
        raise UnsupportedError(f"partial_rotary_factor {share} is not implemented.")
    return head_dim


def _factor(reader: ConfigReader, rope_type: RopeType, stretched: float) -> float:
    if rope_type in (RopeType.DEFAULT, RopeType.TABLE):
        return 1.0
    default = stretched if rope_type in (RopeType.LONGROPE, RopeType.YARN) else None
    factor = reader.number("factor", default)
    if factor is None:
        raise UnsupportedError(f"Rope type {rope_type} needs a factor.")
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
