"""Too little memory for a model, in numbers: what is needed, what is there, who has the rest, and
what would fit. In bytes and tokens, from the planners that decide (`app.engine.memory_plan`,
`app.engine.vram_plan`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RemedyKind(StrEnum):
    """What would make a model fit, nearest first."""

    CONTEXT = "context"  # a shorter one
    INT8_KV = "int8_kv"  # a cache of 8 bits
    W3 = "w3"  # the weights converted to 3 bits


@dataclass(frozen=True, slots=True)
class MemoryRemedy:
    """With it the model has a context of `max_model_len` tokens; `weights_bytes` then."""

    kind: RemedyKind
    max_model_len: int
    weights_bytes: int


@dataclass(frozen=True, slots=True)
class MemoryHolder:
    """A program that holds memory; `num_bytes` None where the driver of a card does not tell.

    `is_own`: this program, all its processes together.
    """

    name: str
    num_bytes: int | None
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class MemoryShortage:
    """`needed_bytes` (weights, KV cache, workspace) do not fit into `free_bytes` of `total_bytes`.

    `card` is its name, '' for the machine's own memory. `max_model_len` is the context that was
    asked for, or the least that is of use. Without `remedies` a smaller model is what is left.
    """

    card: str
    needed_bytes: int
    free_bytes: int
    total_bytes: int
    max_model_len: int
    weights_bytes: int
    kv_bytes: int
    workspace_bytes: int
    remedies: tuple[MemoryRemedy, ...] = ()
    holders: tuple[MemoryHolder, ...] = ()
