"""Groups tensors into the files of a native checkpoint."""

from __future__ import annotations

from collections.abc import Iterable

from app.checkpoint.layout import file_stem
from app.converter.sources.base import SourceLinear, SourcePart, SourceVector


def group_parts(
    linears: Iterable[SourceLinear], vectors: Iterable[SourceVector]
) -> tuple[SourcePart, ...]:
    """`embed`, `layer_00` ..., `lm_head` (untied only), `norm`, in that order."""
    stems: dict[str, tuple[list[SourceLinear], list[SourceVector]]] = {}
    for linear in linears:
        stems.setdefault(file_stem(linear.name), ([], []))[0].append(linear)
    for vector in vectors:
        stems.setdefault(file_stem(vector.name), ([], []))[1].append(vector)
    return tuple(SourcePart(stem, tuple(ls), tuple(vs)) for stem, (ls, vs) in stems.items())
