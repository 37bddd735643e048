"""What a reply may be held to. `app.engine.grammar` makes masks of tokens from these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class JsonObject:
    """Any JSON object (OpenAI's `json_object`)."""


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """JSON that a JSON Schema allows (OpenAI's `json_schema`)."""

    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Grammar:
    """Text of a context-free grammar in llguidance's Lark dialect, whose first rule is `start`.

    `parts` are further grammars, by the names under which `@name` means them.
    """

    lark: str
    parts: tuple[tuple[str, str], ...] = ()


Constraint = JsonObject | JsonSchema | Grammar
