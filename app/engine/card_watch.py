"""Looks at the card while a model runs: whose memory is taken, what spills, how busy it is."""

from __future__ import annotations

import time
from dataclasses import dataclass

from app.core.cards import Card, CardSample, read_memory
from app.core.wddm import shared_bytes
from app.engine.executors.cuda.launcher import Launcher
from app.engine.vram_plan import VramState

# Page-locked pieces come and go while nothing spills.
_SPILL_TOLERANCE_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class _Counts:
    """Since the model was loaded; `num_tokens` were generated."""

    time_s: float
    busy_s: float
    num_replays: int
    num_launches: int
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
        return CardSample(
            name=self._card.name,
            used_bytes=self._used_bytes(),
            total_bytes=self._state.total_bytes,
            context_bytes=self._state.context_bytes,
            spilled_bytes=self._spilled_bytes(),
            num_replays=now.num_replays,
            replays_per_token=_ratio(now.num_replays - last.num_replays, num_new),
            launches_per_token=_ratio(now.num_launches - last.num_launches, num_new),
            busy_share=min(1.0, _ratio(now.busy_s - last.busy_s, now.time_s - last.time_s)),
        )

    def _count(self, num_tokens: int) -> _Counts:
        launcher = self._launcher
        return _Counts(
            time.monotonic(),
            launcher.busy_s,
            launcher.num_replays,
            launcher.num_launches,
            num_tokens,
        )

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
