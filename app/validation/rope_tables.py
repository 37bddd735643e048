"""Rotary tables: ours against those that transformers' module computes, at chosen lengths.

The module is asked for the positions 1 and length - 1. The angle at position 1 is the inverse
frequency itself, so that every rule (llama3, yarn, longrope, dynamic ...) is compared by what it
computes, with the factor that cos and sin carry.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from app.core.sentence import Sentence
from app.core.validation_events import Metric
from app.spec.model_spec import ModelSpec
from app.spec.rope import RopeSpec, RopeType
from app.validation.check import NotRunError, Outcome
from app.validation.context import Context
from app.validation.reference_model import ReferenceClass

Floats = npt.NDArray[np.float64]
# float32 powers of two programs differ by some units in the last place.
MAX_FREQUENCY_ERROR = 2e-5
# An angle of length * frequency is off by length times that frequency's rounding.
_ANGLE_ERROR = 4e-7


@dataclass(frozen=True, slots=True)
class RopeComparison:
    """`frequency_error` is relative, `seam_error` that of cos and sin at the last position."""

    kind: str
    length: int
    frequency_error: float
    factor_error: float
    seam_error: float

    @property
    def fault(self) -> str:
        """What differs, in words."""
        if math.isinf(self.frequency_error):
            return Sentence("another number of columns rotates")
        return Sentence(
            "at {length} positions the frequencies differ by up to {frequency_error:.2g} "
            "(relative), cos and sin at the last by {seam_error:.2g}",
            length=self.length,
            frequency_error=self.frequency_error,
            seam_error=self.seam_error,
        )

    @property
    def is_close(self) -> bool:
        """Whether only rounding differs."""
        return (
            self.frequency_error <= MAX_FREQUENCY_ERROR
            and self.factor_error <= MAX_FREQUENCY_ERROR
            and self.seam_error <= 1e-5 + _ANGLE_ERROR * self.length
        )


def check_rope_tables(context: Context) -> Outcome:
    """Up to the trained length, one position beyond, and up to the longest position."""
    spec = context.needed_spec
    config = context.subject.config
    found = [
        comparison
        for length in _lengths(spec)
        for comparison in compare_ropes(context.needed_reference, config, spec, length)
    ]
    metrics: dict[str, Metric] = {
        Sentence(
            "{kind}, {length} positions, {name}", kind=one.kind, length=one.length, name=name
        ): value
        for one in found
        for name, value in (
            ("frequency_error", one.frequency_error),
            ("seam_error", one.seam_error),
        )
    }
    far = [one for one in found if not one.is_close]
    if far:
        fault = Sentence("{kind}: {fault}.", kind=far[0].kind, fault=far[0].fault)
        return Outcome(False, fault, metrics)
    lengths = ", ".join(str(length) for length in dict.fromkeys(one.length for one in found))
    return Outcome(
        True, Sentence("The tables agree at lengths {lengths}.", lengths=lengths), metrics
    )


def compare_ropes(
    reference: ReferenceClass, config: Mapping[str, Any], spec: ModelSpec, length: int
) -> list[RopeComparison]:
    """One entry per kind of layer that rotates; NotRunError where the module cannot be asked."""
    ropes = {
        str(spec.layer_types[index]): rope
        for index in range(spec.num_hidden_layers)
        if (rope := spec.layer_rope(index)) is not None
    }
    rotary_class = _rotary_class(reference, config)
    created = reference.create_config(config)
    return [
        _compare(kind, rope, length, _ask(rotary_class(created), kind, length))
        for kind, rope in ropes.items()
    ]


def describe_rope(spec: ModelSpec) -> str:
    """`llama3, theta 500000, 128 columns`; a second rope behind it."""
    ropes = [spec.rope] + ([spec.sliding_rope] if spec.sliding_rope is not None else [])
    described = [
        Sentence(
            "{rope_type}, theta {theta:g}, {dim} columns",
            rope_type=rope.rope_type,
            theta=rope.theta,
            dim=rope.dim,
        )
        for rope in ropes
    ]
    if len(described) == 1:
        return described[0]
    full, sliding = described
    return Sentence("{full}; sliding layers: {sliding}", full=full, sliding=sliding)


def trained_length(spec: ModelSpec) -> int:
    """What the model was trained for before its rope was stretched."""
    original = spec.rope.original_max_position_embeddings
    return min(original or spec.max_position_embeddings, spec.max_position_embeddings)


def _lengths(spec: ModelSpec) -> list[int]:
    trained, longest = trained_length(spec), spec.max_position_embeddings
    found = {trained, min(trained + 1, longest), longest}
    if spec.rope.rope_type is RopeType.DYNAMIC:
        found.add(2 * trained)
    return sorted(length for length in found if length > 2)


def _rotary_class(reference: ReferenceClass, config: Mapping[str, Any]) -> Any:
    rotary = getattr(reference.create_on_meta(config).model, "rotary_emb", None)
    if rotary is None:
        raise NotRunError(Sentence("transformers' module has no rotary embedding of its own"))
    return type(rotary)


def _ask(rotary: Any, kind: str, length: int) -> tuple[Floats, Floats]:
    """cos and sin [2, frequencies] at the positions 1 and length - 1."""
    import torch

    positions = torch.tensor([[1, length - 1]])
    arguments: Mapping[str, Any] = {}
    if "layer_type" in inspect.signature(rotary.forward).parameters:
        arguments = {"layer_type": kind}
    found = rotary(torch.zeros(1, 2, 2), positions, **arguments)
    if not isinstance(found, tuple):  # DeepSeek-V2's complex numbers
        table = np.asarray(found[0].numpy())
        return table.real.astype(np.float64), table.imag.astype(np.float64)
    cos, sin = (np.asarray(part[0].double().numpy()) for part in found)
    return cos, sin


def _compare(
    kind: str, rope: RopeSpec, length: int, reference: tuple[Floats, Floats]
) -> RopeComparison:
    frequencies = rope.inverse_frequencies(length).astype(np.float64)
    cos, sin = (_without_copies(table, len(frequencies)) for table in reference)
    if cos.shape[1] != len(frequencies):
        return RopeComparison(kind, length, np.inf, np.inf, np.inf)
    factor = np.hypot(cos[0], sin[0])
    theirs = np.arctan2(sin[0], cos[0])
    last = frequencies * (length - 1)
    ours = np.stack([np.cos(last), np.sin(last)]) * rope.cos_sin_factor
    return RopeComparison(
        kind,
        length,
        frequency_error=float((np.abs(theirs - frequencies) / frequencies).max()),
        factor_error=float(np.abs(factor - rope.cos_sin_factor).max()),
        seam_error=float(np.abs(ours - np.stack([cos[1], sin[1]])).max()),
    )


def _without_copies(table: Floats, count: int) -> Floats:
    """A table [2, 2 * count] holds each number twice: side by side, or in its other half."""
    if table.shape[1] != 2 * count:
        return table
    is_repeated = bool(np.array_equal(table[:, ::2], table[:, 1::2]))
    return table[:, ::2] if is_repeated else table[:, :count]
