"""Accent colours by name: what is chosen, pressed, focused and linked has one, in both themes.

Each is dark enough for white text in the light theme and light enough for its own dark ink in the
dark one: 4.5:1 wherever text meets it, as WCAG 2.2 asks (success criterion 1.4.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Accent(StrEnum):
    """What the user chose; `INDIGO` is the program's own."""

    INDIGO = "indigo"
    BLUE = "blue"
    TEAL = "teal"
    GREEN = "green"
    ORANGE = "orange"
    PINK = "pink"
    GRAPHITE = "graphite"


@dataclass(frozen=True, slots=True)
class Shades:
    """One accent in one theme, as `#rrggbb`; named as the tokens that they replace."""

    accent: str
    accent_hover: str
    accent_soft: str
    on_accent: str = "#ffffff"


LIGHT_SHADES = {
    Accent.INDIGO: Shades("#4250d0", "#3541b5", "#e7e9fc"),
    Accent.BLUE: Shades("#0a5fbf", "#084e9e", "#e1edfb"),
    Accent.TEAL: Shades("#0d6b68", "#0a5654", "#dcf2f0"),
    Accent.GREEN: Shades("#2b6a26", "#22551e", "#e3f2e1"),
    Accent.ORANGE: Shades("#9c4708", "#803a06", "#fdeadb"),
    Accent.PINK: Shades("#b02a6b", "#932158", "#fbe6f0"),
    Accent.GRAPHITE: Shades("#48505f", "#373e4b", "#e6e9ee"),
}

DARK_SHADES = {
    Accent.INDIGO: Shades("#95a2ff", "#acb6ff", "#2a2f52", "#11142b"),
    Accent.BLUE: Shades("#79b6ff", "#98c7ff", "#1b3350", "#0a1b30"),
    Accent.TEAL: Shades("#55cbc2", "#78d8d0", "#15393a", "#062422"),
    Accent.GREEN: Shades("#86cf7c", "#a2dc9a", "#213a20", "#0c230a"),
    Accent.ORANGE: Shades("#ffa566", "#ffba8a", "#46290f", "#2e1503"),
    Accent.PINK: Shades("#ff94c2", "#ffb0d2", "#4a2237", "#33091d"),
    Accent.GRAPHITE: Shades("#b9c2d0", "#cdd4df", "#343a46", "#15181e"),
}
