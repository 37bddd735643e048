"""Looks at the card while a model runs: whose memory is taken, what spills, how busy it is."""

from __future__ import annotations

import time

from app.core.cards import Card, CardSample, read_memory
from app.core.wddm import shared_bytes
from app.engine.executors.cuda.launcher import Launcher
from app.engine.vram_plan import VramState

# Page-locked pieces come and go while nothing spills.
_SPILL_TOLERANCE_BYTES = 32 << 20


class CardWatch:
    """Of one loaded model, from right after it was loaded."""

    def __init__(self, card: Card, launcher: Launcher, state: VramState) -> None:
        self._card, self._launcher, self._state = card, launcher, state
        self._shared_at_start = shared_bytes(card.luid) or 0
        self._sampled_at, self._busy_s = time.monotonic(), launcher.busy_s

    def sample(self) -> CardSample:
        """Now; raises EngineError for a card that failed."""
        return CardSample(
            name=self._card.name,
            used_bytes=self._used_bytes(),
            total_bytes=self._state.total_bytes,
            context_bytes=self._state.context_bytes,
            spilled_bytes=self._spilled_bytes(),
            num_replays=self._launcher.num_replays,
            busy_share=self._busy_share(),
        )

    def _used_bytes(self) -> int:
        """By NVML, which asks no context; by CUDA where there is none."""
        memory = read_memory(self._card)
        if memory is not None:
            return memory.used_bytes
        own = self._launcher.memory()
        return own.total_bytes - own.free_bytes

    def _spilled_bytes(self) -> int:
        more = (shared_bytes(self._card.luid) or 0) - self._shared_at_start
        return more if more > _SPILL_TOLERANCE_BYTES else 0

    def _busy_share(self) -> float:
        now, busy_s = time.monotonic(), self._launcher.busy_s
        elapsed_s, worked_s = now - self._sampled_at, busy_s - self._busy_s
        self._sampled_at, self._busy_s = now, busy_s
        return min(1.0, worked_s / elapsed_s) if elapsed_s > 0 else 0.0
