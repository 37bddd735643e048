"""The machine itself: `step` schedules, runs and samples. `app.engine.host` gives it a thread."""

from __future__ import annotations

import time

from app.core.errors import EngineError, UsageError
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
from app.engine.detokenizer import Detokenizer
from app.engine.executors.base import Executor, MemoryUse
from app.engine.grammar import GrammarCompiler, TokenMatcher
from app.engine.kv_archive import KVArchive
from app.engine.kv_cache import KVCache
from app.engine.kv_store import KVStore
from app.engine.metrics import EngineMetrics
from app.engine.output_parser.factory import create_stop_strings
from app.engine.output_parser.reply_format import shown_special_ids
from app.engine.output_parser.reply_grammar import reply_constraint
from app.engine.prefill_pacer import PrefillPacer
from app.engine.prompt import Prompt, PromptEncoder
from app.engine.request import Request
from app.engine.sampling import Sampler
from app.engine.scheduler import ScheduledChunk, Scheduler
from app.engine.sequence import Sequence
from app.engine.tokenizer import Tokenizer

RequestEvent = (
    PromptTruncated | PrefillProgressed | TokensGenerated | RequestFinished | RequestFailed
)


class Engine:
    """A loaded model and the sequences it works on."""

    def __init__(
        self,
        executor: Executor,
        tokenizer: Tokenizer,
        pacer: PrefillPacer | None = None,
    ) -> None:
        self._executor = executor
        self._tokenizer = tokenizer
        self._kv_cache = KVCache(executor)
        self._pacer = pacer or PrefillPacer(executor.max_pass_tokens)
        self._archive: KVArchive | None = None
        self._scheduler = Scheduler(self._kv_cache, self._pacer)
        self._num_prefilled = self._num_cached = self._num_decoded = 0
        self._stop_ids = {*executor.spec.eos_token_ids, *tokenizer.eos_token_ids}
        vocab_size = executor.spec.vocab_size
        self._prompts = PromptEncoder(tokenizer, self._kv_cache.max_tokens, vocab_size)
        self._grammars = GrammarCompiler(tokenizer, vocab_size, self._stop_ids)

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
            num_preemptions=scheduler.num_preemptions,
        )

    def use_store(self, kv_store: KVStore | None) -> None:
        """From now on conversations with a cache key are kept there."""
        archive = KVArchive(self._executor, self._kv_cache, kv_store) if kv_store else None
        self._archive = self._scheduler.archive = archive

    def add(self, request: Request) -> list[RequestEvent]:
        """Queues a request; PromptTruncated where turns were left out of its prompt.

        Raises UsageError for parameters that cannot be, ContextLengthError for a prompt that leaves
        no room.
        """
        prompt = self._prompts.encode(request)
        self._scheduler.add(self._create_sequence(request, prompt))
        num_dropped = prompt.num_dropped_messages
        return [PromptTruncated(request.request_id, num_dropped)] if num_dropped else []

    def measure(self, request: Request) -> PromptMeasured:
        """What the request would take; raises UsageError for one that cannot be."""
        prompt = self._prompts.measure(request)
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
        chunks = [scheduled.chunk for scheduled in batch]
        began_s = time.perf_counter()
        token_ids = self._executor.sample(chunks, [scheduled.sampler for scheduled in batch])
        self._record(batch, time.perf_counter() - began_s)
        pairs = zip(batch, token_ids, strict=True)
        return [event for scheduled, token in pairs for event in self._advance(scheduled, token)]

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

    def _create_sequence(self, request: Request, prompt: Prompt) -> Sequence:
        sampling, room = request.sampling, self._prompts.num_free_tokens(prompt)
        stop_ids = self._stop_ids_of(request)
        return Sequence(
            request_id=request.request_id,
            prompt_ids=prompt.token_ids,
            max_tokens=room if sampling.max_tokens is None else min(sampling.max_tokens, room),
            stop_ids=stop_ids,
            sampler=Sampler(
                sampling,
                prompt.token_ids,
                self._executor.spec.vocab_size,
                matcher=self._create_matcher(request),
                num_logprobs=request.num_logprobs,
                stop_ids=stop_ids,
            ),
            detokenizer=Detokenizer(
                self._tokenizer,
                continues_text=request.prompt is not None or request.continues_reply,
                shown_ids=shown_special_ids(self._tokenizer, request),
            ),
            stop_strings=create_stop_strings(self._tokenizer, request),
            priority=request.priority,
            cache_key=request.cache_key,
        )

    def _stop_ids_of(self, request: Request) -> set[int]:
        own = set() if request.sampling.ignore_eos else self._stop_ids
        return own | set(request.sampling.stop_token_ids)

    def _create_matcher(self, request: Request) -> TokenMatcher | None:
        constraint = reply_constraint(self._tokenizer, request)
        if constraint is None:
            return None
        if request.sampling.ignore_eos:
            raise UsageError(
                "A reply that is held to a grammar ends with it; ignore_eos cannot be."
            )
        return self._grammars.compile(constraint)

    def _record(self, batch: list[ScheduledChunk], step_s: float) -> None:
        """What a step has done, before it is committed."""
        prompts = [s for s in batch if s.sequence.is_prefilling]
        num_prefilled = sum(len(s.chunk.token_ids) for s in prompts)
        self._pacer.record(num_prefilled, len(batch) - len(prompts), step_s)
        self._num_prefilled += num_prefilled
        for scheduled in prompts:
            if scheduled.sequence.num_cached is None:
                scheduled.sequence.num_cached = scheduled.chunk.start
                self._num_cached += scheduled.chunk.start

    def _advance(self, scheduled: ScheduledChunk, token_id: int | None) -> list[RequestEvent]:
        sequence = scheduled.sequence
        self._scheduler.commit(scheduled)
        is_prompt = not sequence.output_ids
        events: list[RequestEvent] = [_prefill_progress(sequence)] if is_prompt else []
        return events if token_id is None else events + self._append(sequence, token_id)

    def _append(self, sequence: Sequence, token_id: int) -> list[RequestEvent]:
        self._num_decoded += 1
        if sequence.sampler.failure:
            self._scheduler.remove(sequence)
            error = EngineError(sequence.sampler.failure)
            return [RequestFailed(sequence.request_id, ErrorInfo.from_exception(error))]
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
