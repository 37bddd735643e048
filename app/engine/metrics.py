"""Counts of an engine at one moment, for the port's `/metrics` and for the window."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CardCounts:
    """Graphs that the card replayed, the kernels in them, and how long these ran."""

    num_replays: int
    num_launches: int
    busy_s: float


@dataclass(frozen=True, slots=True)
class EngineMetrics:
    """Requests and pages now; tokens, preemptions and the `card`'s work since the model was loaded.

    `num_running` of at most `num_slots` requests are worked on, `num_waiting` wait. Of all pages,
    `pages_used` belong to running requests and `pages_cached` hold tokens of earlier ones.
    Of the tokens of all prompts, `tokens_cached` were found in the cache and `tokens_prefilled`
    computed (those of preempted requests once more); `tokens_decoded` were generated. Of
    `tokens_guessed` ahead of time `tokens_held` were what was then drawn.
    """

    num_waiting: int = 0
    num_running: int = 0
    num_slots: int = 0
    pages_used: int = 0
    pages_cached: int = 0
    pages_total: int = 0
    tokens_prefilled: int = 0
    tokens_cached: int = 0
    tokens_decoded: int = 0
    tokens_guessed: int = 0
    tokens_held: int = 0
    num_preemptions: int = 0
    card: CardCounts | None = None
