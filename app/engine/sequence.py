"""One request on its way through the engine: its tokens, its sampler, its text and its times."""

from __future__ import annotations

import time
from collections.abc import Set

from app.core.events import FinishReason, Usage
from app.engine.detokenizer import Detokenizer
from app.engine.sampling import Sampler
from app.engine.stop_strings import StopStringMatcher


class Sequence:
    """Prompt and output token ids, and what is needed to grow them by one.

    `num_computed` tokens are in the KV cache: all but the last one while decoding.
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
    ) -> None:
        self.request_id = request_id
        self.prompt_ids = prompt_ids
        self.output_ids: list[int] = []
        self.slot = -1
        self.num_cached = 0
        self.num_computed = 0
        self.finish_reason: FinishReason | None = None
        self.sampler = sampler
        self._max_tokens = max_tokens
        self._stop_ids = stop_ids
        self._detokenizer = detokenizer
        self._stop_strings = stop_strings
        self._arrived_s = time.monotonic()
        self._first_token_s = 0.0
        self._last_token_s = 0.0

    @property
    def is_prefilling(self) -> bool:
        """Whether some of the prompt is not in the KV cache yet."""
        return self.num_computed < len(self.prompt_ids)

    @property
    def usage(self) -> Usage:
        """Counts and times so far; times are 0 before the first token."""
        is_started = bool(self.output_ids)
        return Usage(
            prompt_tokens=len(self.prompt_ids),
            cached_tokens=self.num_cached,
            completion_tokens=len(self.output_ids),
            ttft_s=self._first_token_s - self._arrived_s if is_started else 0.0,
            decode_s=self._last_token_s - self._first_token_s,
        )

    def start(self, slot: int, num_cached: int) -> None:
        """Takes a KV slot that holds the first `num_cached` tokens of the prompt."""
        self.slot = slot
        self.num_cached = self.num_computed = num_cached

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
