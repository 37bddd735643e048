"""Looks at the card while a model runs: whose memory is taken, what spills, how busy it is."""

from __future__ import annotations

import time
from dataclasses import dataclass

from app.core.cards import Card, CardSample, read_memory
from app.core.wddm import shared_bytes
from app.engine.executors.cuda.launcher import Launcher
from app.engine.metrics import CardCounts
from app.engine.vram_plan import VramState

# Page-locked pieces come and go while nothing spills.
_SPILL_TOLERANCE_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class _Counts:
    """Since the model was loaded; `num_tokens` were generated."""

    time_s: float
    card: CardCounts
    num_tokens: int


class CardWatch:
    """Of one loaded model, from right after it was loaded.

    `shared_before` is what `shared_bytes` told before anything of the model was on the card. What
    came since is spilled, page-locked memory aside, and that may already be so.
    """

    def __init__(
        self, card: Card, launcher: Launcher, state: VramState, shared_before: int | None
    ) -> None:
        self._card, self._launcher, self._state = card, launcher, state
        unspilled = (shared_before or 0) + launcher.host_bytes
        self._unspilled_bytes = min(shared_bytes(card.luid) or 0, unspilled)
        self._last = self._count(num_tokens=0)

    def sample(self, num_tokens: int) -> CardSample:
        """Now, when so many tokens have been generated; raises EngineError for a card that failed.

        What is told per token and as a share is of the time since the last sample.
        """
        last, now = self._last, self._count(num_tokens)
        self._last = now
        num_new = now.num_tokens - last.num_tokens
        num_replays = now.card.num_replays - last.card.num_replays
        num_launches = now.card.num_launches - last.card.num_launches
        busy_s = now.card.busy_s - last.card.busy_s
        return CardSample(
            name=self._card.name,
            used_bytes=self._used_bytes(),
            total_bytes=self._state.total_bytes,
            context_bytes=self._state.context_bytes,
            spilled_bytes=self._spilled_bytes(),
            num_replays=now.card.num_replays,
            replays_per_token=_ratio(num_replays, num_new),
            launches_per_token=_ratio(num_launches, num_new),
            busy_share=min(1.0, _ratio(busy_s, now.time_s - last.time_s)),
        )

    def counts(self) -> CardCounts:
        """Since the model was loaded."""
        launcher = self._launcher
        return CardCounts(launcher.num_replays, launcher.num_launches, launcher.busy_s)

    def _count(self, num_tokens: int) -> _Counts:
        return _Counts(time.monotonic(), self.counts(), num_tokens)

    def _used_bytes(self) -> int:
        """By NVML, which asks no context; by CUDA where there is none."""
        memory = read_memory(self._card)
        if memory is not None:
            return memory.used_bytes
        own = self._launcher.memory()
        return own.total_bytes - own.free_bytes

    def _spilled_bytes(self) -> int:
        more = (shared_bytes(self._card.luid) or 0) - self._unspilled_bytes
        return more if more > _SPILL_TOLERANCE_BYTES else 0


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
