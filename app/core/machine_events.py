"""What this computer is, and what will run well on it: told once, when somebody wants to know."""

from __future__ import annotations

from dataclasses import dataclass

from app.core.cards import Card
from app.core.device import Machine
from app.core.events import Event


@dataclass(frozen=True, slots=True)
class ModelSize:
    """A model of this size at 4 bits, here.

    `max_context` tokens fit, 0: it does not. `tok_s` is about what it answers with, None where
    nothing tells.
    """

    name: str
    device: str
    max_context: int
    tok_s: float | None


@dataclass(frozen=True, slots=True)
class MachineDescribed(Event):
    """Sizes in bytes. Without a `card` that is of use, `card_problem` says why in a sentence;
    `sizes` go from small to large.
    """

    machine: Machine
    instruction_set: str
    card: Card | None
    card_problem: str
    card_free_bytes: int
    driver: str
    disk_free_bytes: int
    sizes: tuple[ModelSize, ...]
