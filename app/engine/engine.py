"""The machine itself: `step` schedules, runs and samples. `app.engine.host` gives it a thread."""

from __future__ import annotations

from app.core.errors import ContextLengthError, UsageError
from app.core.events import (
    FinishReason,
    PrefillProgressed,
    RequestFinished,
    TokensGenerated,
)
from app.engine.detokenizer import Detokenizer
from app.engine.executors.base import Executor, MemoryUse
from app.engine.request import Request
from app.engine.sampling import Sampler
from app.engine.scheduler import ScheduledChunk, Scheduler
from app.engine.sequence import Sequence
from app.engine.stop_strings import StopStringMatcher
from app.engine.tokenizer import Tokenizer

RequestEvent = PrefillProgressed | TokensGenerated | RequestFinished


class Engine:
    """A loaded model and the sequences it works on."""

    def __init__(self, executor: Executor, tokenizer: Tokenizer) -> None:
        self._executor = executor
        self._tokenizer = tokenizer
        is_recurrent = executor.spec.is_recurrent
        self._scheduler = Scheduler(executor.num_slots, is_recurrent=is_recurrent)
        self._stop_ids = {*executor.spec.eos_token_ids, *tokenizer.eos_token_ids}

    @property
    def has_work(self) -> bool:
        """Whether `step` has something to do."""
        return self._scheduler.has_work

    def memory_use(self) -> MemoryUse:
        """The executor's memory by cause."""
        return self._executor.memory_use()

    def add(self, request: Request) -> None:
        """Queues a request.

        Raises UsageError for parameters that cannot be, ContextLengthError for a prompt that leaves
        no room.
        """
        self._scheduler.add(self._create_sequence(request, self._encode(request)))

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
        """Runs one piece of a prompt, or one token of each running reply."""
        batch = self._scheduler.schedule()
        chunks = [scheduled.chunk for scheduled in batch]
        token_ids = self._executor.sample(chunks, [scheduled.sampler for scheduled in batch])
        pairs = zip(batch, token_ids, strict=True)
        return [event for scheduled, token in pairs for event in self._advance(scheduled, token)]

    def close(self) -> None:
        """Gives the executor's memory back."""
        self._executor.close()

    def _encode(self, request: Request) -> list[int]:
        if (request.prompt is None) == (not request.messages):
            raise UsageError("A request needs either messages or a prompt.")
        if isinstance(request.prompt, tuple):
            return list(request.prompt)
        if request.prompt is not None:
            return self._tokenizer.encode(request.prompt)
        template = self._tokenizer.chat_template
        if template is None:
            raise UsageError("The model has no chat template; give it a raw prompt instead.")
        return self._tokenizer.encode_chat(template.render(request.messages))

    def _create_sequence(self, request: Request, prompt_ids: list[int]) -> Sequence:
        sampling, spec = request.sampling, self._executor.spec
        room = self._num_free_tokens(prompt_ids)
        stop_ids = set() if sampling.ignore_eos else self._stop_ids
        return Sequence(
            request_id=request.request_id,
            prompt_ids=prompt_ids,
            max_tokens=room if sampling.max_tokens is None else min(sampling.max_tokens, room),
            stop_ids=stop_ids,
            sampler=Sampler(sampling, prompt_ids, spec.vocab_size),
            detokenizer=Detokenizer(self._tokenizer, continues_text=request.prompt is not None),
            stop_strings=StopStringMatcher(sampling.stop),
        )

    def _num_free_tokens(self, prompt_ids: list[int]) -> int:
        if not prompt_ids:
            raise UsageError("The prompt is empty.")
        if min(prompt_ids) < 0 or max(prompt_ids) >= self._executor.spec.vocab_size:
            raise UsageError("The prompt holds a token that the model has no embedding for.")
        room = self._executor.max_model_len - len(prompt_ids)
        if room < 1:
            raise ContextLengthError(
                f"The prompt has {len(prompt_ids)} tokens; the context is planned for "
                f"{self._executor.max_model_len}, at least one of them for the reply."
            )
        return room

    def _advance(self, scheduled: ScheduledChunk, token_id: int | None) -> list[RequestEvent]:
        sequence = scheduled.sequence
        was_prefilling = sequence.is_prefilling
        self._scheduler.commit(scheduled)
        events: list[RequestEvent] = [_prefill_progress(sequence)] if was_prefilling else []
        return events if token_id is None else events + self._append(sequence, token_id)

    def _append(self, sequence: Sequence, token_id: int) -> list[RequestEvent]:
        text = sequence.append(token_id)
        events: list[RequestEvent] = [TokensGenerated(sequence.request_id, (token_id,), text)]
        if sequence.finish_reason is None:
            return events
        return [*events, self._finish(sequence, sequence.finish_reason)]

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
        sequence.request_id, sequence.num_computed, len(sequence.prompt_ids), sequence.num_cached
    )
