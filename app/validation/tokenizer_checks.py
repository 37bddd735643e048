"""The tokenizer: round trips, transformers' ids, and room in the vocabulary."""

from __future__ import annotations

from typing import Any

from app.core.errors import InvalidSourceError
from app.core.sentence import Sentence, clauses
from app.engine.tokenizer import Tokenizer
from app.validation.check import NotRunError, Outcome
from app.validation.context import Context
from app.validation.reference_tokenizer import load_reference_tokenizer
from app.validation.texts import load_tokenizer, text_folder

TEXTS = (
    "The quick brown fox jumps over the lazy dog.",
    "1234567890 3.14159 -42 1,000,000 0x1F",
    "  two  spaces,\ttabs\n\nand lines\n",
    "Привет, мир! Ελληνικά. שלום. مرحبا. हिन्दी.",
    "你好，世界！今天天气怎么样？日本語のテキスト。한국어 문장.",
    "Emoji: 😀 👩‍👩‍👧‍👦 🇫🇷 ✨",
    "def f(x):\n    return {'a': x ** 2}  # code\n",
    "café naïve Ångström ﬁ Ⅳ",
)


def check_tokenizer(context: Context) -> Outcome:
    """Every text, against transformers where it has the tokenizer, else against itself."""
    if context.subject.has_weights and context.subject.path is not None:
        _require(context)
    tokenizer = load_tokenizer(context)
    folder = text_folder(context)
    reference = load_reference_tokenizer(context, folder)
    faults = [fault for text in TEXTS if (fault := _fault(tokenizer, reference, text))]
    size, rows = tokenizer.vocab_size, context.spec.vocab_size if context.spec else None
    if rows is not None and size > rows:
        faults.append(
            Sentence("it has {size} tokens, the embedding only {rows} rows", size=size, rows=rows)
        )
    metrics = {"texts": len(TEXTS), "faults": len(faults), "vocabulary": size}
    if faults:
        return Outcome(False, Sentence("{faults}.", faults=clauses(faults)), metrics)
    against = (
        Sentence("ids as transformers'")
        if reference is not None
        else Sentence("transformers' was not there")
    )
    return Outcome(
        True,
        Sentence(
            "{num_texts} texts come back as they were; {against}.",
            num_texts=len(TEXTS),
            against=against,
        ),
        metrics,
    )


def _require(context: Context) -> None:
    """Weights without a tokenizer cannot be chatted with: that is no gap but a fault."""
    try:
        text_folder(context)
    except NotRunError as error:
        raise InvalidSourceError(
            "{name}: {reason}.", name=context.subject.name, reason=error.reason
        ) from error


def _fault(tokenizer: Tokenizer, reference: Any | None, text: str) -> str:
    ids = tokenizer.encode(text, add_special_tokens=False)
    back = tokenizer.decode(ids)
    shown = repr(text[:24])
    if reference is None:
        return (
            ""
            if back == text
            else Sentence("{shown} comes back as {back!r}", shown=shown, back=back[:24])
        )
    theirs = reference.encode(text, add_special_tokens=False)
    if ids != theirs:
        return Sentence(
            "{shown} becomes {ids}, in transformers {theirs}",
            shown=shown,
            ids=ids[:6],
            theirs=theirs[:6],
        )
    # Some normalize what they read; then transformers returns the same.
    decoded = reference.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    if back in (text, decoded):
        return ""
    return Sentence(
        "{shown} comes back as {back!r}, in transformers as {decoded!r}",
        shown=shown,
        back=back[:24],
        decoded=decoded[:24],
    )
