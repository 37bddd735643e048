"""Weight accounting, from headers: every tensor is consumed once, or ignored by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from app.checkpoint.reader import Checkpoint
from app.converter.sources.base import Source
from app.converter.sources.claims import TensorClaims
from app.converter.sources.convolutions import squeeze_kernels
from app.converter.sources.draft_layers import draft_tensors
from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.stacked_experts import unstack_experts
from app.converter.sources.stored_linears import StoredLinears
from app.core.errors import AppError, InvalidSourceError
from app.core.sentence import Sentence, clauses, sentences
from app.core.validation_events import Metric
from app.spec.model_spec import ModelSpec
from app.spec.registry import create_spec, weight_names
from app.spec.weights import has_bias, iter_linears, iter_vectors
from app.validation.check import NotRunError, Outcome
from app.validation.context import Context

_KINDS = (Sentence("missing"), Sentence("unexpected"), Sentence("mis-shaped"))
_LISTED = 6


def check_weights(context: Context) -> Outcome:
    """Of a source: what opening it found. Of a checkpoint: its tensors against its config."""
    subject = context.subject
    if not subject.has_weights:
        raise NotRunError(Sentence("only config.json was given"))
    if subject.fault is not None:
        return _describe_fault(subject.fault)
    if isinstance(subject.checkpoint, Checkpoint):
        return _check_native(subject.checkpoint, context.needed_spec)
    assert subject.source is not None
    return _describe_source(subject.source)


def account_reference(config: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Claims tensors of `shapes` as a folder's; raises InvalidSourceError naming the misfits."""
    stored = {
        name: StoredArray(name, Path("reference"), np.dtype(np.float32), shape, 0)
        for name, shape in shapes.items()
    }
    spec, names = create_spec(config), weight_names(config, stored)
    tensors = squeeze_kernels(unstack_experts(stored, spec, names))
    layout, claims = StoredLinears(spec, names, tensors), TensorClaims(tensors)
    for name, shape in layout.shapes.items():
        claims.take(f"{layout.stems[name]}.weight", shape)
        if has_bias(spec, name):
            claims.take(f"{layout.stems[name]}.bias", shape[:1])
    for canonical, size in iter_vectors(spec):
        claims.take(names.vector(canonical), size)
    ignored = {name for name in tensors if names.is_ignored(name)}
    ignored |= draft_tensors(config, tensors, f"{names.prefix}layers.")
    claims.check(
        ignored=ignored, architecture=spec.architecture, file=Sentence("transformers' module")
    )


def _describe_fault(fault: AppError) -> Outcome:
    """`detail` has a line for each misfit, in `claims`' words."""
    lines = fault.detail.splitlines()
    found = {
        kind: [line.partition(": ")[2] for line in lines if line.startswith(f"{kind}: ")]
        for kind in _KINDS
    }
    metrics: dict[str, Metric] = {kind: len(names) for kind, names in found.items()}
    if not any(metrics.values()):
        return Outcome(False, fault.message)
    listed = clauses(
        Sentence("{kind}: {names}", kind=kind, names=_shorten(names))
        for kind, names in found.items()
        if names
    )
    return Outcome(False, Sentence("{faults}.", faults=listed), metrics)


def _shorten(names: list[str]) -> str:
    return ", ".join(names[:_LISTED]) + (" ..." if len(names) > _LISTED else "")


def _describe_source(source: Source) -> Outcome:
    linears = [linear for part in source.parts() for linear in part.linears]
    vectors = [vector for part in source.parts() for vector in part.vectors]
    types = dict.fromkeys(linear.source_type for linear in linears)
    found = Sentence(
        "{num_linears} matrices ({types}) and {num_vectors} vectors, each used once; none is "
        "missing, unexpected or mis-shaped.",
        num_linears=len(linears),
        types=", ".join(types),
        num_vectors=len(vectors),
    )
    return Outcome(
        True,
        sentences([found, *source.notes]),
        {"matrices": len(linears), "vectors": len(vectors), "bytes": source.source_bytes},
    )


def _check_native(checkpoint: Checkpoint, spec: ModelSpec) -> Outcome:
    linears, vectors = dict(iter_linears(spec)), dict(iter_vectors(spec))
    claims = TensorClaims(_native_shapes(checkpoint, linears))
    for name, (rows, columns) in linears.items():
        claims.take(name, (rows, columns))
        if has_bias(spec, name):
            claims.take(f"{name}.bias", (rows,))
    for name, size in vectors.items():
        claims.take(name, size)
    try:
        claims.check(ignored=(), architecture=spec.architecture, file=Sentence("The checkpoint"))
    except InvalidSourceError as fault:
        return _describe_fault(fault)
    return Outcome(
        True,
        Sentence(
            "{num_linears} matrices and {num_vectors} vectors, each with the shape that "
            "config.json means; none is missing, unexpected or mis-shaped.",
            num_linears=len(linears),
            num_vectors=len(vectors),
        ),
        {"matrices": len(linears), "vectors": len(vectors), "bytes": checkpoint.total_bytes},
    )


@dataclass(frozen=True, slots=True)
class _Shape:
    shape: tuple[int, ...]


def _native_shapes(checkpoint: Checkpoint, linears: Mapping[str, Any]) -> dict[str, _Shape]:
    """What the manifest lists, the biases of those that are wanted, and all vectors."""
    found = {name: _Shape(record.shape) for name, record in checkpoint.manifest.linears.items()}
    for name in linears.keys() & found.keys():
        bias = checkpoint.linear(name).bias
        if bias is not None:
            found[f"{name}.bias"] = _Shape(bias.shape)
    return found | {name: _Shape(checkpoint.vector(name).shape) for name in checkpoint.vector_names}
