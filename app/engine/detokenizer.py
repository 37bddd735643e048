"""Token ids -> text while they are generated."""

from __future__ import annotations

import codecs
from collections.abc import Set

from app.engine.tokenizer import Tokenizer


class Detokenizer:
    """Streams one reply: what `add` and `flush` return, joined, is `Tokenizer.decode` of all ids.

    A character may be spread over several tokens; its bytes are held until it is complete, so
    U+FFFD appears only for bytes that can no longer become one. Every token costs the same, however
    long the reply is.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        *,
        skip_special_tokens: bool = True,
        continues_text: bool = False,
        shown_ids: Set[int] = frozenset(),
    ) -> None:
        """`continues_text`: the reply goes on where a raw prompt ends; its first space counts.

        `shown_ids`: special tokens that are not skipped.
        """
        self._tokenizer = tokenizer
        self._skip_special_tokens = skip_special_tokens
        self._shown_ids = shown_ids
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._at_start = not continues_text

    def add(self, token_id: int) -> str:
        """The text that became certain with this token; often one word, sometimes nothing."""
        if self._is_skipped(token_id):
            return ""
        piece = self._tokenizer.token_bytes(token_id)
        if self._at_start and piece:
            piece = self._tokenizer.strip_prefix(piece)
            self._at_start = False
        return self._decoder.decode(piece)

    def _is_skipped(self, token_id: int) -> bool:
        if not self._skip_special_tokens or token_id in self._shown_ids:
            return False
        return self._tokenizer.is_special(token_id)

    def flush(self) -> str:
        """The reply is over: U+FFFD for a character that was begun and never finished."""
        return self._decoder.decode(b"", final=True)
