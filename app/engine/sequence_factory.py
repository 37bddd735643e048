"""From a request to a sequence that can be queued: all that takes long before the first step."""

from __future__ import annotations

import time
from collections.abc import Set
from dataclasses import dataclass

from app.core.errors import UsageError
from app.engine.detokenizer import Detokenizer
from app.engine.grammar import GrammarCompiler, TokenMatcher
from app.engine.output_parser.factory import create_stop_strings
from app.engine.output_parser.reply_format import shown_special_ids
from app.engine.output_parser.reply_grammar import reply_constraint
from app.engine.prompt import Prompt, PromptEncoder
from app.engine.request import Request
from app.engine.sampling import Sampler
from app.engine.sequence import Sequence
from app.engine.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """What the scheduler takes, and how many messages its prompt does without."""

    sequence: Sequence
    num_dropped_messages: int


class SequenceFactory:
    """Knows the model's tokenizer and sizes, and nothing of what runs.

    For one thread, which need not be the engine's.
    """

    def __init__(
        self, tokenizer: Tokenizer, max_model_len: int, vocab_size: int, eos_ids: Set[int]
    ) -> None:
        """`vocab_size` is that of the logits; `eos_ids`: the model's own ends of text."""
        self._tokenizer = tokenizer
        self._vocab_size = vocab_size
        self._eos_ids = eos_ids
        self._prompts = PromptEncoder(tokenizer, max_model_len, vocab_size)
        self._grammars = GrammarCompiler(tokenizer, vocab_size, eos_ids)

    def create(self, request: Request, submitted_s: float | None = None) -> PreparedRequest:
        """`submitted_s`: when the request came, by `time.monotonic`; None: now.

        Raises UsageError for parameters that cannot be, ContextLengthError for a prompt that leaves
        no room.
        """
        arrived_s = time.monotonic() if submitted_s is None else submitted_s
        prompt = self._prompts.encode(request)
        return PreparedRequest(
            self._create_sequence(request, prompt, arrived_s), prompt.num_dropped_messages
        )

    def measure(self, request: Request) -> Prompt:
        """The prompt alone, which may be too long; raises UsageError for one that cannot be."""
        return self._prompts.measure(request)

    def _create_sequence(self, request: Request, prompt: Prompt, arrived_s: float) -> Sequence:
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
                self._vocab_size,
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
            arrived_s=arrived_s,
        )

    def _stop_ids_of(self, request: Request) -> set[int]:
        own = set() if request.sampling.ignore_eos else self._eos_ids
        return {*own, *request.sampling.stop_token_ids}

    def _create_matcher(self, request: Request) -> TokenMatcher | None:
        constraint = reply_constraint(self._tokenizer, request)
        if constraint is None:
            return None
        if request.sampling.ignore_eos:
            raise UsageError(
                "A reply that is held to a grammar ends with it; ignore_eos cannot be."
            )
        return self._grammars.compile(constraint)
