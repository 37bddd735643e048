"""Groups tensors into the files of a native checkpoint."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from app.checkpoint.layout import expert_file_stem, file_stem
from app.converter.sources.base import SourceLinear, SourcePart, SourceVector

# A part is held whole until it is written, one per core. A layer's experts can be many times a
# dense layer (800 million weights in gpt-oss-20b), so they are split at this many weights; that is
# somewhat less than the largest embeddings have.
_EXPERT_FILE_WEIGHTS = 1 << 28
_EXPERT = re.compile(r"layers\.\d+\.mlp\.experts\.(\d+)\..+")


def group_parts(
    linears: Iterable[SourceLinear], vectors: Iterable[SourceVector]
) -> tuple[SourcePart, ...]:
    """`embed`, `layer_00`, `layer_00_experts_00` ..., `lm_head` (untied only), `norm`."""
    stems: dict[str, tuple[list[SourceLinear], list[SourceVector]]] = {}
    for linear in linears:
        stems.setdefault(file_stem(linear.name), ([], []))[0].append(linear)
    for vector in vectors:
        stems.setdefault(file_stem(vector.name), ([], []))[1].append(vector)
    return tuple(part for stem, found in stems.items() for part in _split_experts(stem, *found))


def _split_experts(
    stem: str, linears: list[SourceLinear], vectors: list[SourceVector]
) -> Iterator[SourcePart]:
    """The part `stem` without its experts, then theirs."""
    others = tuple(linear for linear in linears if _expert_of(linear) is None)
    if others or vectors:
        yield SourcePart(stem, others, tuple(vectors))
    experts = [linear for linear in linears if _expert_of(linear) is not None]
    for number, members in enumerate(_expert_files(experts)):
        yield SourcePart(expert_file_stem(stem, number), tuple(members), ())


def _expert_files(linears: list[SourceLinear]) -> Iterator[list[SourceLinear]]:
    """Whole experts, as many as a file should hold, at least one."""
    members: list[SourceLinear] = []
    num_weights = 0
    for _, group in groupby(linears, key=_expert_of):
        expert = list(group)
        size = sum(rows * columns for rows, columns in (linear.shape for linear in expert))
        if members and num_weights + size > _EXPERT_FILE_WEIGHTS:
            yield members
            members, num_weights = [], 0
        members = members + expert
        num_weights += size
    if members:
        yield members


def _expert_of(linear: SourceLinear) -> int | None:
    found = _EXPERT.fullmatch(linear.name)
    return int(found[1]) if found else None
