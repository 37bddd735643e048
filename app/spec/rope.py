"""Rotary position embedding: the parameters of every supported type, and their inverse frequencies."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RopeType(StrEnum):
    """Hugging Face's rope types, plus an explicit table of inverse frequencies."""

    DEFAULT = "default"
    LINEAR = "linear"
    DYNAMIC = "dynamic"
    LLAMA3 = "llama3"
    YARN = "yarn"
    LONGROPE = "longrope"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class RopeSpec:
    """Parameters of one rotary embedding; those of other types stay at their defaults."""

    rope_type: RopeType = RopeType.DEFAULT
    theta: float = 10000.0
    factor: float = 1.0
