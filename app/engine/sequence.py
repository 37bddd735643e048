"""One request on its way through the engine: its tokens, its sampler, its text and its times."""

from __future__ import annotations

import time
from collections.abc import Set
from itertools import takewhile

from app.core.errors import EngineError
from app.core.events import FinishReason, Usage
from app.engine.detokenizer import Detokenizer
from app.engine.kv_archive import KVRestoration
from app.engine.kv_cache import KVLease
from app.engine.ngram_proposer import NgramProposer
from app.engine.sampling import Sampler
from app.engine.stop_strings import StopStringMatcher


class Sequence:
    """Prompt and output token ids, and what is needed to grow them by one.

    While decoding, all of them but the last one are in the KV cache. `priority` and `cache_key` as
    in `Request`.
    """

    def __init__(
        self,
        request_id: str,
        prompt_ids: list[int],
        max_tokens: int,
        stop_ids: Set[int],
        sampler: Sampler,
        detokenizer: Detokenizer,
        stop_strings: StopStringMatcher,
        priority: int = 0,
        cache_key: str | None = None,
        arrived_s: float | None = None,
    ) -> None:
        """`arrived_s`: when the request came, by `time.monotonic`; now, where it is not said."""
        self.request_id = request_id
        self.prompt_ids = prompt_ids
        self.output_ids: list[int] = []
        self.priority = priority
        self.arrival = 0  # set by the scheduler, as the next ones
        self.lease: KVLease | None = None
        self.restoration: KVRestoration | None = None
        self.num_cached: int | None = None
        self.cache_key = cache_key
        self.finish_reason: FinishReason | None = None
        self.sampler = sampler
        self.proposer = NgramProposer(prompt_ids)
        self._max_tokens = max_tokens
        self._stop_ids = stop_ids
        self._detokenizer = detokenizer
        self._stop_strings = stop_strings
        self._arrived_s = time.monotonic() if arrived_s is None else arrived_s
        self._first_token_s = 0.0
        self._last_token_s = 0.0

    @property
    def open_lease(self) -> KVLease:
        """Of a sequence that runs; a waiting one has none, which raises EngineError."""
        if self.lease is None:
            raise EngineError("The sequence has no KV slot.")
        return self.lease

    @property
    def is_open(self) -> bool:
        """Whether it was given what the cache had of its tokens."""
        return self.lease is not None and self.lease.is_open

    @property
    def num_computed(self) -> int:
        """Tokens in the KV cache."""
        return self.lease.table.num_tokens if self.lease else 0

    @property
    def num_known(self) -> int:
        """Tokens of the prompt and of the reply."""
        return len(self.prompt_ids) + len(self.output_ids)

    @property
    def max_len(self) -> int:
        """The most tokens that it will ever have."""
        return len(self.prompt_ids) + self._max_tokens

    @property
    def token_ids(self) -> list[int]:
        """All known tokens."""
        return self.prompt_ids + self.output_ids

    @property
    def is_prefilling(self) -> bool:
        """Whether more is to be computed than the token that was drawn last: some of the prompt, or
        of the reply again after others were given its pages."""
        return not self.output_ids or self.num_known - self.num_computed > 1

    @property
    def usage(self) -> Usage:
        """Counts and times so far; times are 0 before the first token."""
        is_started = bool(self.output_ids)
        return Usage(
            prompt_tokens=len(self.prompt_ids),
            cached_tokens=self.num_cached or 0,
            completion_tokens=len(self.output_ids),
            ttft_s=self._first_token_s - self._arrived_s if is_started else 0.0,
            decode_s=self._last_token_s - self._first_token_s,
        )

    def tokens_from(self, start: int, num_tokens: int) -> list[int]:
        """So many known tokens from a position on."""
        if start >= len(self.prompt_ids):
            start -= len(self.prompt_ids)
            return self.output_ids[start : start + num_tokens]
        return self.token_ids[start : start + num_tokens]

    def propose(self, num_tokens: int) -> list[int]:
        """At most so many guesses of what comes next: none that would end the reply, and none where
        the rules of the request need to see each token before the next is drawn.
        """
        room = self.max_len - self.num_known - 1
        if self.sampler.needs_logits:
            return []
        guesses = self.proposer.propose(min(num_tokens, room))
        return list(takewhile(lambda token_id: token_id not in self._stop_ids, guesses))

    def append(self, token_id: int) -> str:
        """Takes a sampled token; returns the text that became certain.

        Sets `finish_reason` if it was the last. A stop token counts as a token and adds no text; a
        stop string is cut off; a reply that its grammar lets go no further needs no stop token.
        """
        self._append_id(token_id)
        if token_id in self._stop_ids:
            self.finish_reason = FinishReason.STOP
            return self.flush()
        text = self._stop_strings.add(self._detokenizer.add(token_id))
        if self._stop_strings.is_stopped or self.sampler.is_complete:
            self.finish_reason = FinishReason.STOP
        elif len(self.output_ids) >= self._max_tokens:
            self.finish_reason = FinishReason.LENGTH
        return text if self.finish_reason is None else text + self.flush()

    def flush(self) -> str:
        """The text that was held back because it might have become a stop string.

        The bytes of an unfinished character are dropped: half a character is nothing to show.
        """
        return self._stop_strings.flush()

    def _append_id(self, token_id: int) -> None:
        self._last_token_s = time.monotonic()
        if not self.output_ids:
            self._first_token_s = self._last_token_s
        self.output_ids.append(token_id)
        self.proposer.append(token_id)
