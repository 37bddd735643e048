"""The machine itself: `step` schedules, runs and samples. `app.engine.host` gives it a thread."""

from __future__ import annotations

import time
from collections.abc import Callable

from app.core.boundary import Guard
from app.core.errors import MemoryShortageError, OutOfMemoryError
from app.core.events import (
    ErrorInfo,
    FinishReason,
    PrefillProgressed,
    PromptMeasured,
    PromptTruncated,
    RequestFailed,
    RequestFinished,
    TokenLogprob,
    TokensGenerated,
)
from app.core.memory_shortage import MemoryShortage
from app.engine.draft_pacer import DraftPacer
from app.engine.executors.base import Executor, MemoryUse
from app.engine.kv_archive import KVArchive
from app.engine.kv_cache import KVCache
from app.engine.kv_store import KVStore
from app.engine.metrics import EngineMetrics
from app.engine.prefill_pacer import PrefillPacer
from app.engine.request import Request
from app.engine.scheduler import ScheduledChunk, Scheduler
from app.engine.sequence import Sequence
from app.engine.sequence_factory import PreparedRequest, SequenceFactory
from app.engine.tokenizer import Tokenizer

RequestEvent = (
    PromptTruncated | PrefillProgressed | TokensGenerated | RequestFinished | RequestFailed
)


class Engine:
    """A loaded model and the sequences it works on.

    `describe_shortage` gives the numbers for a reply that memory was too short for.
    """

    def __init__(
        self,
        executor: Executor,
        tokenizer: Tokenizer,
        pacer: PrefillPacer | None = None,
        describe_shortage: Callable[[], MemoryShortage | None] = lambda: None,
    ) -> None:
        self._executor = executor
        self._describe_shortage = describe_shortage
        self._tokenizer = tokenizer
        self._kv_cache = KVCache(executor)
        self._pacer = pacer or PrefillPacer(executor.max_pass_tokens)
        self._archive: KVArchive | None = None
        self._drafts = DraftPacer(executor.max_draft_tokens)
        self._scheduler = Scheduler(self._kv_cache, self._pacer, self._drafts)
        self._num_prefilled = self._num_cached = self._num_decoded = 0
        self._num_guessed = self._num_held = 0
        self._factory = SequenceFactory(
            tokenizer,
            self._kv_cache.max_tokens,
            executor.spec.vocab_size,
            {*executor.spec.eos_token_ids, *tokenizer.eos_token_ids},
        )

    @property
    def has_work(self) -> bool:
        """Whether `step` has something to do."""
        return self._scheduler.has_work

    @property
    def has_chores(self) -> bool:
        """Whether `do_chore` has something to do, while there is nothing else."""
        return self._archive is not None and self._archive.has_work

    @property
    def snapshot_bytes(self) -> int:
        """Of copies of recurrent states, in this process's memory wherever the executor runs."""
        return self._kv_cache.snapshot_bytes

    def memory_use(self) -> MemoryUse:
        """The executor's memory by cause."""
        return self._executor.memory_use()

    def metrics(self) -> EngineMetrics:
        """Requests and pages now, tokens so far."""
        kv_cache, scheduler = self._kv_cache, self._scheduler
        return EngineMetrics(
            num_waiting=scheduler.num_waiting,
            num_running=scheduler.num_running,
            num_slots=self._executor.num_slots,
            pages_used=kv_cache.num_pages - kv_cache.num_available_pages,
            pages_cached=kv_cache.num_cached_pages,
            pages_total=kv_cache.num_pages,
            tokens_prefilled=self._num_prefilled,
            tokens_cached=self._num_cached,
            tokens_decoded=self._num_decoded,
            tokens_guessed=self._num_guessed,
            tokens_held=self._num_held,
            num_preemptions=scheduler.num_preemptions,
        )

    def use_store(self, kv_store: KVStore | None) -> None:
        """From now on conversations with a cache key are kept there."""
        archive = KVArchive(self._executor, self._kv_cache, kv_store) if kv_store else None
        self._archive = self._scheduler.archive = archive

    def add(self, request: Request) -> list[RequestEvent]:
        """`prepare` and `queue` in one."""
        return self.queue(self.prepare(request))

    def prepare(self, request: Request, submitted_s: float | None = None) -> PreparedRequest:
        """What takes long; with `measure`, all that another thread may do while `step` runs.

        The time to the first token counts from `submitted_s` (`time.monotonic`), None: from now.
        Raises UsageError for parameters that cannot be, ContextLengthError for a prompt that leaves
        no room.
        """
        return self._factory.create(request, submitted_s)

    def queue(self, prepared: PreparedRequest) -> list[RequestEvent]:
        """Queues a request; PromptTruncated where turns were left out of its prompt."""
        self._scheduler.add(prepared.sequence)
        num_dropped = prepared.num_dropped_messages
        request_id = prepared.sequence.request_id
        return [PromptTruncated(request_id, num_dropped)] if num_dropped else []

    def measure(self, request: Request) -> PromptMeasured:
        """What the request would take; raises UsageError for one that cannot be."""
        prompt = self._factory.measure(request)
        return PromptMeasured(
            request.request_id,
            len(prompt.token_ids),
            prompt.num_dropped_messages,
            self._kv_cache.max_tokens,
        )

    def cancel(self, request_id: str) -> list[RequestEvent]:
        """Ends a request now; no event when it has ended already."""
        for sequence in self._scheduler.sequences:
            if sequence.request_id == request_id:
                return self._cancel(sequence)
        return []

    def cancel_all(self) -> list[RequestEvent]:
        """Ends every request now."""
        return [event for s in self._scheduler.sequences for event in self._cancel(s)]

    def step(self) -> list[RequestEvent]:
        """Runs a token of each running reply and a piece of a prompt, or fetches a page of one."""
        if self._archive is not None:
            self._archive.pause()
        batch = self._scheduler.schedule()
        if not batch:
            return []
        began_s = time.perf_counter()
        try:
            drawn = self._run(batch)
        except (MemoryError, OutOfMemoryError) as error:
            return [self._abandon(batch, error)]
        self._record(batch, time.perf_counter() - began_s)
        pairs = zip(batch, drawn, strict=True)
        return [event for scheduled, tokens in pairs for event in self._advance(scheduled, tokens)]

    def _run(self, batch: list[ScheduledChunk]) -> list[list[int]]:
        """The tokens drawn behind each chunk: several where guesses held."""
        first = batch[0]
        if first.num_guesses:
            return [self._executor.verify(first.chunk, first.sequence.sampler)]
        chunks = [scheduled.chunk for scheduled in batch]
        token_ids = self._executor.sample(chunks, [scheduled.sampler for scheduled in batch])
        return [[] if token_id is None else [token_id] for token_id in token_ids]

    def _abandon(self, batch: list[ScheduledChunk], error: Exception) -> RequestFailed:
        """One reply ends for want of memory; the model stays, and the others go on."""
        self._executor.recover()
        last = self._scheduler.abandon(batch)
        shortage = MemoryShortageError(
            "The machine has run out of memory for this reply; the model stays loaded.",
            detail=repr(error),
            shortage=self._describe_shortage(),
        )
        return RequestFailed(last.request_id, ErrorInfo.from_exception(shortage))

    def do_chore(self) -> None:
        """A small piece of what can wait: saves a page of a conversation to the disk."""
        if self._archive is not None:
            self._archive.step()

    def forget(self, cache_key: str) -> None:
        """Removes what is kept of a conversation on the disk."""
        if self._archive is not None:
            self._archive.forget(cache_key)

    def close(self) -> None:
        """Gives the executor's memory back."""
        self._executor.close()

    def _record(self, batch: list[ScheduledChunk], step_s: float) -> None:
        """What a step has done, before it is committed."""
        prompts = [s for s in batch if s.sequence.is_prefilling]
        num_prefilled = sum(len(s.chunk.token_ids) for s in prompts)
        if len(batch) == 1 and not prompts:
            self._drafts.record(batch[0].num_guesses, step_s)
        if not batch[0].num_guesses:
            self._pacer.record(num_prefilled, len(batch) - len(prompts), step_s)
        self._num_prefilled += num_prefilled
        for scheduled in prompts:
            if scheduled.sequence.num_cached is None:
                scheduled.sequence.num_cached = scheduled.chunk.start
                self._num_cached += scheduled.chunk.start

    def _advance(self, scheduled: ScheduledChunk, drawn: list[int]) -> list[RequestEvent]:
        """Commits what was known, and each guess behind the token that it turned out to be."""
        sequence, token_ids = scheduled.sequence, scheduled.chunk.token_ids.tolist()
        num_known = len(token_ids) - scheduled.num_guesses
        self._count_guesses(scheduled, len(drawn) - 1)
        self._scheduler.commit(sequence, token_ids[:num_known])
        is_prompt = not sequence.output_ids
        events: list[RequestEvent] = [_prefill_progress(sequence)] if is_prompt else []
        for index, token_id in enumerate(drawn):
            if index:
                self._scheduler.commit(sequence, [drawn[index - 1]])
            events += self._extend(sequence, token_id)
            if not sequence.is_open:
                break
        return events

    def _count_guesses(self, scheduled: ScheduledChunk, num_held: int) -> None:
        if scheduled.num_guesses:
            scheduled.sequence.proposer.record(scheduled.num_guesses, num_held)
            self._num_guessed += scheduled.num_guesses
            self._num_held += num_held

    def _extend(self, sequence: Sequence, token_id: int) -> list[RequestEvent]:
        """`_append`; whatever goes wrong there is this reply's own affair, and its end alone."""
        failures: list[Exception] = []
        with Guard(f"The reply to {sequence.request_id} cannot go on", failures.append):
            return self._append(sequence, token_id)
        self._scheduler.discard(sequence)
        return [RequestFailed(sequence.request_id, ErrorInfo.from_exception(failures[0]))]

    def _append(self, sequence: Sequence, token_id: int) -> list[RequestEvent]:
        sequence.sampler.check()
        self._num_decoded += 1
        text = sequence.append(token_id)
        events: list[RequestEvent] = [
            TokensGenerated(sequence.request_id, (token_id,), text, self._logprobs_of(sequence))
        ]
        if sequence.finish_reason is None:
            return events
        return [*events, self._finish(sequence, sequence.finish_reason)]

    def _logprobs_of(self, sequence: Sequence) -> tuple[TokenLogprob, ...]:
        ranked = sequence.sampler.logprobs
        return () if ranked is None else (ranked.with_bytes(self._tokenizer.token_bytes),)

    def _cancel(self, sequence: Sequence) -> list[RequestEvent]:
        text = sequence.flush()
        events: list[RequestEvent] = (
            [TokensGenerated(sequence.request_id, (), text)] if text else []
        )
        return [*events, self._finish(sequence, FinishReason.CANCELLED)]

    def _finish(self, sequence: Sequence, reason: FinishReason) -> RequestFinished:
        self._scheduler.remove(sequence)
        return RequestFinished(sequence.request_id, reason, sequence.usage)


def _prefill_progress(sequence: Sequence) -> PrefillProgressed:
    return PrefillProgressed(
        sequence.request_id,
        sequence.num_computed,
        len(sequence.prompt_ids),
        sequence.num_cached or 0,
    )
