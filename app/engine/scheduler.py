"""Which tokens run next: every reply by one, and beside them pieces of prompts."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass
from itertools import count

import numpy as np

from app.core.errors import OutOfMemoryError
from app.engine.draft_pacer import DraftPacer
from app.engine.executors.base import PREFILL_CHUNK_TOKENS, LogitsWanted, SequenceChunk
from app.engine.executors.block_tables import KV_PAGE_TOKENS, pages_for
from app.engine.kv_archive import KVArchive, KVRestoration
from app.engine.kv_cache import KVCache
from app.engine.page_tree import Prefix, common_prefix_len
from app.engine.prefill_pacer import PrefillPacer
from app.engine.sampling import Sampler
from app.engine.sequence import Sequence

# A prompt waits for another that is computing at least so many tokens of its own beginning.
_WORTH_WAITING_TOKENS = 32
# A recurrent state is kept so many tokens before the end of a prompt: templates end it with what is
# not there any more when the conversation goes on, such as an opened or an empty thought.
_STATE_MARGIN_TOKENS = 8


@dataclass(frozen=True, slots=True)
class ScheduledChunk:
    """A chunk for the executor and the sequence it belongs to; its last tokens may be guesses."""

    sequence: Sequence
    chunk: SequenceChunk
    num_guesses: int = 0

    @property
    def sampler(self) -> Sampler | None:
        """What draws the token behind the chunk; None while more of the prompt follows."""
        return None if self.chunk.logits is LogitsWanted.NONE else self.sequence.sampler


class Scheduler:
    """A queue of waiting sequences, and the running ones, at most one per slot.

    The lowest priority goes first, of equals the first that came. A sequence that waits takes the
    place of the last running one of a higher number; that is computed anew later, as is the last
    one when the pool of pages is empty.

    In every other step the oldest open prompt comes first, so that it ends; in the others the one
    with least left, so that a short prompt does not wait for a long one. What remains of the step
    is for the next ones. What a prompt shares with another that is being computed it waits for.

    A reply that runs alone takes guesses along (`app.engine.ngram_proposer`): beside others it
    would make them wait.
    """

    def __init__(self, kv_cache: KVCache, pacer: PrefillPacer, drafts: DraftPacer) -> None:
        self.kv_cache = kv_cache
        self.archive: KVArchive | None = None
        self.num_preemptions = 0
        self._pacer = pacer
        self._drafts = drafts
        self._arrivals = count()
        self._waiting: list[Sequence] = []
        self._running: list[Sequence] = []
        self._is_oldest_next = True

    @property
    def has_work(self) -> bool:
        """Whether any sequence waits or runs."""
        return bool(self._waiting or self._running)

    @property
    def num_waiting(self) -> int:
        """Sequences without a slot."""
        return len(self._waiting)

    @property
    def num_running(self) -> int:
        """Sequences with a slot."""
        return len(self._running)

    @property
    def sequences(self) -> list[Sequence]:
        """All unfinished sequences, the running ones first."""
        return [*self._running, *self._waiting]

    def add(self, sequence: Sequence) -> None:
        """Queues behind all others of its priority."""
        sequence.arrival = next(self._arrivals)
        insort(self._waiting, sequence, key=_rank)

    def remove(self, sequence: Sequence) -> None:
        """Forgets a finished or cancelled sequence and frees its slot and pages."""
        if sequence.lease is None:
            self._waiting.remove(sequence)
            return
        if self.archive is not None and sequence.cache_key is not None:
            computed = sequence.token_ids[: sequence.num_computed]
            self.archive.remember(sequence.cache_key, computed)
        self._end(sequence)

    def discard(self, sequence: Sequence) -> None:
        """`remove` of a running one that went wrong: what it has computed is not used again."""
        self._end(sequence, is_sound=False)

    def schedule(self) -> list[ScheduledChunk]:
        """The next step; empty when all that could be done was to restore a page from disk."""
        self._admit()
        self._open_ready()
        lengths = {s: 1 for s in self._running if not s.is_prefilling}
        prompts = self._order_prompts()
        if prompts and (restoration := prompts[0].restoration) is not None:
            self._restore(prompts[0], restoration)
        else:
            lengths |= self._cut(prompts, self._pacer.piece_tokens(len(lengths)))
        guesses = self._guess(*lengths) if len(lengths) == 1 else []
        for sequence, num_tokens in lengths.items():
            self._reserve(sequence, sequence.num_computed + num_tokens + len(guesses))
        running = {s: n for s, n in lengths.items() if s.lease is not None}  # not preempted
        for reply in (s for s in running if not s.is_prefilling):
            self.kv_cache.reserve_ahead(reply.open_lease, reply.num_computed + 2)
        return [_chunk(s, n, guesses) for s, n in running.items()]

    def commit(self, sequence: Sequence, token_ids: list[int]) -> None:
        """The executor has run these tokens, which came next."""
        lease = sequence.open_lease
        self.kv_cache.commit(lease, token_ids)
        if sequence.num_computed == _kept_state(sequence.prompt_ids):
            self.kv_cache.keep_state(lease)

    def abandon(self, batch: list[ScheduledChunk]) -> Sequence:
        """The step ran out of memory: its last sequence, which is given up; the others run again.

        Nobody knows what recurrent states have seen: those sequences are computed anew. An executor
        that allocates pages as they are reached has none for further ones: ended sequences give
        theirs.
        """
        sequences = [scheduled.sequence for scheduled in batch]
        last = max(sequences, key=_rank)
        for sequence in sequences if self.kv_cache.is_recurrent else ():
            self.kv_cache.lose_state(sequence.open_lease)
            if sequence is not last:
                self._preempt(sequence)
        self._end(last)
        self.kv_cache.drop_cached()
        return last

    # --- from waiting to running -----------------------------------------------------------------

    def _admit(self) -> None:
        while self._waiting and self._has_room(self._waiting[0]):
            sequence = self._waiting.pop(0)
            sequence.lease = self.kv_cache.lease()
            self._running.append(sequence)

    def _has_room(self, sequence: Sequence) -> bool:
        """Whether there is a slot, and pages for its tokens; a better priority makes room."""
        while not (self.kv_cache.has_free_slot and self._has_pages(sequence)):
            last = max(self._running, key=_rank)
            if last.priority <= sequence.priority:
                return False
            self._preempt(last)
        return True

    def _has_pages(self, sequence: Sequence) -> bool:
        """Also when those who run have what they need: for what they know, and a page more."""
        if not self._running:
            return True
        to_come = sum(self._pages_to_come(running) for running in self._running)
        to_come += self._pages_to_come(sequence)
        if to_come <= self.kv_cache.num_available_pages:
            return True
        prefix = self.kv_cache.find(sequence.token_ids)
        shared = self.kv_cache.num_pages_in_use(prefix)
        return to_come - shared <= self.kv_cache.num_available_pages

    def _pages_to_come(self, sequence: Sequence) -> int:
        held = sequence.lease.table.num_pages if sequence.lease else 0
        wanted = min(sequence.num_known + KV_PAGE_TOKENS, sequence.max_len)
        return max(0, pages_for(wanted) - held)

    def _open_ready(self) -> None:
        """Gives new sequences what the cache has, unless more of it is being computed."""
        for sequence in sorted((s for s in self._running if not s.is_open), key=_rank):
            prefix = self.kv_cache.find(sequence.token_ids)
            if not self._is_waiting_for_another(sequence, prefix):
                self._open(sequence, prefix)

    def _open(self, sequence: Sequence, prefix: Prefix) -> None:
        lease = sequence.open_lease
        self.kv_cache.open(lease, prefix)
        if self.archive is not None and sequence.cache_key is not None:
            token_ids = sequence.token_ids
            sequence.restoration = self.archive.restoration(sequence.cache_key, lease, token_ids)

    def _is_waiting_for_another(self, sequence: Sequence, prefix: Prefix) -> bool:
        token_ids = sequence.token_ids
        return any(
            self._num_shareable(token_ids, other) - prefix.num_tokens >= _WORTH_WAITING_TOKENS
            for other in self._running
            if other.is_open and other.is_prefilling and other.priority <= sequence.priority
        )

    def _num_shareable(self, token_ids: list[int], other: Sequence) -> int:
        """How much of these tokens the other will have computed at the end of its prompt."""
        others = other.token_ids
        num_shared = min(common_prefix_len(token_ids, others), len(token_ids) - 1)
        if not self.kv_cache.is_recurrent:
            return num_shared
        kept = _kept_state(other.prompt_ids)
        return kept if kept <= num_shared else 0

    # --- what runs -------------------------------------------------------------------------------

    def _order_prompts(self) -> list[Sequence]:
        """The open ones: by priority, and then those with least left, or first the oldest."""
        prompts = [s for s in self._running if s.is_open and s.is_prefilling]
        prompts.sort(key=lambda s: (s.priority, s.num_known - s.num_computed, s.arrival))
        is_oldest, self._is_oldest_next = self._is_oldest_next, not self._is_oldest_next
        if prompts and is_oldest:
            oldest = min(prompts, key=_rank)
            prompts.remove(oldest)
            prompts.insert(0, oldest)
        return prompts

    def _cut(self, prompts: list[Sequence], num_tokens: int) -> dict[Sequence, int]:
        """Pieces of so many tokens together: whole ones, but for the first if it is larger."""
        pieces: dict[Sequence, int] = {}
        for prompt in prompts:
            piece = self._whole_piece(prompt)
            if prompt.restoration is None and (piece <= num_tokens or not pieces):
                pieces[prompt] = min(piece, num_tokens)
                num_tokens -= pieces[prompt]
        return pieces

    def _whole_piece(self, sequence: Sequence) -> int:
        """Up to a multiple of the longest chunk, or to the end.

        So a prompt is cut in the same places whatever runs beside it, where the machine is fast
        enough: on a card sums depend on the cut in their last bits.
        """
        start, end = sequence.num_computed, sequence.num_known
        if self.kv_cache.is_recurrent and start < _kept_state(sequence.prompt_ids):
            end = _kept_state(sequence.prompt_ids)
        return min(end - start, PREFILL_CHUNK_TOKENS - start % PREFILL_CHUNK_TOKENS)

    def _guess(self, sequence: Sequence) -> list[int]:
        """What may come next of the only one that runs."""
        if sequence.is_prefilling:
            return []
        guesses = sequence.propose(self._drafts.length(sequence.proposer.rate))
        if not guesses:
            sequence.proposer.record(0, 0)
        return guesses

    def _restore(self, sequence: Sequence, restoration: KVRestoration) -> None:
        """Fetches a page in place of a piece of a prompt: replies wait for one page at most."""
        if not self._reserve(sequence, restoration.next_tokens):
            return
        try:
            if not restoration.advance():
                sequence.restoration = None
        except OutOfMemoryError:  # then the rest is computed anew
            sequence.restoration = None

    def _reserve(self, sequence: Sequence, num_tokens: int) -> bool:
        """Pages for the sequence, at the cost of the last ones if need be; maybe of itself."""
        if sequence.lease is None:
            return False
        while not self.kv_cache.reserve(sequence.lease, num_tokens):
            last = max((s for s in self._running if s.is_open), key=_rank)
            self._preempt(last)
            if last is sequence:
                return False
        return True

    def _preempt(self, sequence: Sequence) -> None:
        self.num_preemptions += 1
        self._end(sequence)
        insort(self._waiting, sequence, key=_rank)

    def _end(self, sequence: Sequence, *, is_sound: bool = True) -> None:
        give_back = self.kv_cache.release if is_sound else self.kv_cache.discard
        give_back(sequence.open_lease)
        sequence.lease = sequence.restoration = None
        self._running.remove(sequence)


def _rank(sequence: Sequence) -> tuple[int, int]:
    return sequence.priority, sequence.arrival


def _kept_state(prompt_ids: list[int]) -> int:
    """How many tokens of a prompt have been seen by the recurrent state that is kept of it."""
    return max(1, len(prompt_ids) - _STATE_MARGIN_TOKENS)


def _chunk(sequence: Sequence, num_tokens: int, guesses: list[int]) -> ScheduledChunk:
    start = sequence.num_computed
    is_last = start + num_tokens == sequence.num_known
    wanted = LogitsWanted.LAST if is_last else LogitsWanted.NONE
    token_ids = [*sequence.tokens_from(start, num_tokens), *guesses]
    chunk = SequenceChunk(
        sequence.open_lease.slot,
        start,
        np.array(token_ids, dtype=np.int32),
        LogitsWanted.ALL if guesses else wanted,
    )
    return ScheduledChunk(sequence, chunk, len(guesses))
