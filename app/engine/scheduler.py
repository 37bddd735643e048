"""Which tokens run next: first come, first served; prompts in pieces, one token per reply."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from app.engine.executors.base import PREFILL_CHUNK_TOKENS, LogitsWanted, SequenceChunk
from app.engine.kv_cache import KVCache
from app.engine.sampling import Sampler
from app.engine.sequence import Sequence


@dataclass(frozen=True, slots=True)
class ScheduledChunk:
    """A chunk for the executor and the sequence it belongs to."""

    sequence: Sequence
    chunk: SequenceChunk

    @property
    def sampler(self) -> Sampler | None:
        """What draws the token behind the chunk; None while more of the prompt follows."""
        return None if self.chunk.logits is LogitsWanted.NONE else self.sequence.sampler


class Scheduler:
    """A queue of waiting sequences, and the running ones, at most one per KV slot.

    `is_recurrent` is of the model: see `KVCache`.
    """

    def __init__(self, num_slots: int, *, is_recurrent: bool) -> None:
        self.kv_cache = KVCache(num_slots, is_recurrent=is_recurrent)
        self._waiting: deque[Sequence] = deque()
        self._running: list[Sequence] = []

    @property
    def has_work(self) -> bool:
        """Whether any sequence waits or runs."""
        return bool(self._waiting or self._running)

    @property
    def sequences(self) -> list[Sequence]:
        """All unfinished sequences, the running ones first."""
        return [*self._running, *self._waiting]

    def add(self, sequence: Sequence) -> None:
        """Queues behind all others."""
        self._waiting.append(sequence)

    def remove(self, sequence: Sequence) -> None:
        """Forgets a finished or cancelled sequence and frees its slot."""
        if sequence in self._running:
            self._running.remove(sequence)
            self.kv_cache.release(sequence.slot)
        else:
            self._waiting.remove(sequence)

    def schedule(self) -> list[ScheduledChunk]:
        """The next step: a token of every decoding sequence, a piece of the first open prompt."""
        self._admit()
        batch = [self._decode(s) for s in self._running if not s.is_prefilling]
        prefilling = next((s for s in self._running if s.is_prefilling), None)
        return batch if prefilling is None else [*batch, self._prefill(prefilling)]

    def commit(self, scheduled: ScheduledChunk) -> None:
        """The executor has run the chunk."""
        token_ids = scheduled.chunk.token_ids.tolist()
        self.kv_cache.append(scheduled.chunk.slot, token_ids)
        scheduled.sequence.num_computed += len(token_ids)

    def _admit(self) -> None:
        while self._waiting and self.kv_cache.has_free_slot:
            sequence = self._waiting.popleft()
            slot, num_cached = self.kv_cache.acquire(sequence.prompt_ids)
            sequence.start(slot, num_cached)
            self._running.append(sequence)

    def _decode(self, sequence: Sequence) -> ScheduledChunk:
        token_ids = np.array(sequence.output_ids[-1:], dtype=np.int32)
        return ScheduledChunk(
            sequence, SequenceChunk(sequence.slot, sequence.num_computed, token_ids)
        )

    def _prefill(self, sequence: Sequence) -> ScheduledChunk:
        start = sequence.num_computed
        piece = sequence.prompt_ids[start : start + PREFILL_CHUNK_TOKENS]
        is_last = start + len(piece) == len(sequence.prompt_ids)
        wanted = LogitsWanted.LAST if is_last else LogitsWanted.NONE
        token_ids = np.array(piece, dtype=np.int32)
        return ScheduledChunk(sequence, SequenceChunk(sequence.slot, start, token_ids, wanted))
