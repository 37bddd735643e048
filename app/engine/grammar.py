"""Constraints as masks of tokens, with llguidance: which may come next, and when all is said.

The library's view of a vocabulary is made at the first constraint, once per loaded model.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from app.core.errors import UsageError
from app.core.sentence import Sentence
from app.engine.constraint import Constraint, Grammar, JsonObject, JsonSchema
from app.engine.tokenizer import Tokenizer

if TYPE_CHECKING:
    from llguidance import LLMatcher, LLTokenizer

# The time of a step grows with what a grammar forces at once.
MAX_GRAMMAR_CHARS = 256 * 1024
# A model that is held to JSON sometimes writes white space for ever, which JSON allows.
JSON_OPTIONS = {"whitespace_pattern": r"[\x20\x0A\x0D\x09]{1,32}"}
_INLINED = "failed to compile JSON schema: "  # of a schema that is a part of a grammar
_ANY_OBJECT = {"type": "object"}


class TokenMatcher:
    """One reply that is held to a grammar, token by token.

    `error` is empty, or says why the grammar cannot be followed any further.
    """

    def __init__(self, matcher: LLMatcher, vocab_size: int) -> None:
        self._matcher = matcher
        self._vocab_size = vocab_size
        self._allowed: npt.NDArray[np.bool_] | None = self._compute()

    @property
    def error(self) -> str:
        """One line of the library's words."""
        return _one_line(self._matcher.get_error())

    @property
    def is_complete(self) -> bool:
        """Whether nothing but the end of the text may follow."""
        return self._matcher.is_stopped()

    def allowed(self) -> npt.NDArray[np.bool_]:
        """Which tokens may come next, [vocab_size]; end of text where the reply may end."""
        if self._allowed is None:
            self._allowed = self._compute()
        return self._allowed

    def accept(self, token_id: int) -> None:
        """The token that was drawn of those."""
        self._matcher.consume_token(token_id)
        self._allowed = None

    def _compute(self) -> npt.NDArray[np.bool_]:
        mask = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
        bits = np.unpackbits(mask, bitorder="little", count=self._vocab_size)
        return bits.view(np.bool_)


class GrammarCompiler:
    """Makes matchers for one tokenizer."""

    def __init__(self, tokenizer: Tokenizer, vocab_size: int, eos_ids: Collection[int]) -> None:
        """`vocab_size` is that of the logits; `eos_ids`: whatever ends a reply."""
        self._tokenizer = tokenizer
        self._vocab_size = vocab_size
        self._eos_ids = sorted(token_id for token_id in eos_ids if token_id < vocab_size)

    def compile(self, constraint: Constraint) -> TokenMatcher:
        """Raises UsageError, in one sentence, for what is no grammar or cannot be enforced."""
        subject = (
            Sentence("grammar") if isinstance(constraint, Grammar) else Sentence("JSON schema")
        )
        try:
            grammar = _to_grammar(constraint)
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(
                "The {subject} cannot be read: {error}.", subject=subject, error=error
            ) from error
        if len(grammar) > MAX_GRAMMAR_CHARS:
            raise UsageError(
                "The {subject} is longer than {most:,} characters.",
                subject=subject,
                most=MAX_GRAMMAR_CHARS,
            )
        return self._match(grammar, subject)

    def _match(self, grammar: str, subject: str) -> TokenMatcher:
        from llguidance import LLMatcher, LLParserLimits

        limits = LLParserLimits(verbose_errors=False)
        matcher = LLMatcher(self._vocabulary, grammar, log_level=0, limits=limits)
        # The first mask is part of the check: only then is it known whether anything can be said.
        token_matcher = TokenMatcher(matcher, self._vocab_size)
        if matcher.is_error():
            _, is_inlined, error = token_matcher.error.rpartition(_INLINED)
            raise UsageError(
                "The {subject} cannot be enforced: {error}.",
                subject=Sentence("JSON schema") if is_inlined else subject,
                error=error,
                detail=matcher.get_error(),
            )
        return token_matcher

    @cached_property
    def _vocabulary(self) -> LLTokenizer:
        from llguidance import LLTokenizer

        bridge = _Bridge(self._tokenizer, self._vocab_size, self._eos_ids)
        # In two calls: no other thread runs during either.
        eos_ids = self._eos_ids or None
        plain = LLTokenizer(bridge, eos_token=eos_ids, slices=[])  # type: ignore[arg-type]
        return plain.with_slices(LLTokenizer.general_slices())


class _Bridge:
    """What `LLTokenizer` asks of a tokenizer."""

    is_tokenizer_wrapper = True

    def __init__(self, tokenizer: Tokenizer, vocab_size: int, eos_ids: list[int]) -> None:
        ids = range(vocab_size)
        self._tokenizer = tokenizer
        self.eos_token_id = eos_ids[0] if eos_ids else None
        self.bos_token_id = tokenizer.bos_token_id
        self.tokens = [tokenizer.token_bytes(token_id) for token_id in ids]
        self.special_token_ids = [token_id for token_id in ids if tokenizer.is_special(token_id)]

    def __call__(self, text: str) -> list[int]:
        """Token ids whose bytes are those of `text`."""
        ids = self._tokenizer.encode_inner(text)
        return self._spell(text) if ids is None else ids

    def _spell(self, text: str) -> list[int]:
        """Byte by byte, as far as bytes are tokens."""
        return [self._byte_ids[byte] for byte in text.encode() if byte in self._byte_ids]

    @cached_property
    def _byte_ids(self) -> dict[int, int]:
        return {piece[0]: token_id for token_id, piece in enumerate(self.tokens) if len(piece) == 1}


def quote(text: str) -> str:
    """`text` as a string of llguidance's Lark dialect."""
    return json.dumps(text, ensure_ascii=False)


def schema_text(schema: Mapping[str, Any]) -> str:
    """As llguidance reads it, behind `%json` in Lark too; a client may set the options itself."""
    return json.dumps({"x-guidance": JSON_OPTIONS, **schema})


def json_schema_of(constraint: JsonObject | JsonSchema) -> Mapping[str, Any]:
    """The schema that the constraint stands for."""
    return constraint.schema if isinstance(constraint, JsonSchema) else _ANY_OBJECT


def _to_grammar(constraint: Constraint) -> str:
    from llguidance import LLMatcher

    if isinstance(constraint, Grammar):
        named = [{"name": name, "lark_grammar": lark} for name, lark in constraint.parts]
        return json.dumps({"grammars": [{"lark_grammar": constraint.lark}, *named]})
    return LLMatcher.grammar_from_json_schema(schema_text(json_schema_of(constraint)))


def _one_line(message: str) -> str:
    """The line that names the fault: of a regex's, the last; of a grammar's, the first."""
    message = message.partition("<state>")[0]
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    named = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return (named or lines or [""])[0].rstrip(".")
