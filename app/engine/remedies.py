"""What would make a model fit that does not: each remedy with the context that it gives."""

from __future__ import annotations

from collections.abc import Iterable

from app.core.memory_shortage import MemoryRemedy, RemedyKind

_PAGE_TOKENS = 256
# Memory moves between the plan and the click: a 32nd of the context stays in hand.
_MARGIN_SHARE = 32


def choose_remedies(
    found: Iterable[MemoryRemedy], least_len: int, wanted_len: int
) -> tuple[MemoryRemedy, ...]:
    """Those that give at least `least_len` tokens; others than a shorter context where they give
    more than that."""
    remedies = {remedy.kind: _rounded(remedy, wanted_len) for remedy in found}
    shorter = remedies.get(RemedyKind.CONTEXT)
    alone = 0 if shorter is None else shorter.max_model_len
    return tuple(
        remedy
        for kind, remedy in remedies.items()
        if remedy.max_model_len >= least_len
        and (kind is RemedyKind.CONTEXT or remedy.max_model_len > alone)
    )


def _rounded(remedy: MemoryRemedy, wanted_len: int) -> MemoryRemedy:
    """All that is wanted, or something less than what fits exactly."""
    length = remedy.max_model_len
    if length < wanted_len:
        length -= length // _MARGIN_SHARE
        length -= length % _PAGE_TOKENS if length > 4 * _PAGE_TOKENS else 0
    return MemoryRemedy(remedy.kind, length, remedy.weights_bytes)
