"""Code to coloured spans with Pygments, imported with the first code block only. No Qt."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple


class TokenKind(StrEnum):
    """What a span is; the value names the theme token that colours it."""

    KEYWORD = "accent"
    STRING = "success"
    NUMBER = "warning"
    COMMENT = "muted"
    NAME = "code_name"


class Span(NamedTuple):
    """`length` characters from `column` of line `line`."""

    line: int
    column: int
    length: int
    kind: TokenKind


def find_spans(code: str, language: str) -> Iterator[Span]:
    """The spans to colour, as they are found; none for a language that Pygments does not know."""
    lexer = _create_lexer(language)
    if lexer is None:
        return
    line = column = 0
    for token_type, text in lexer.get_tokens(code):
        kind = _kind_of(token_type)
        for index, part in enumerate(text.split("\n")):
            line, column = (line + 1, 0) if index else (line, column)
            if kind and part:
                yield Span(line, column, len(part), kind)
            column += len(part)


@lru_cache(maxsize=16)
def _create_lexer(language: str) -> Any:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def _kind_of(token_type: Any) -> TokenKind | None:
    from pygments.token import Comment, Keyword, Name, Number, Operator, String

    kinds = (
        (Comment, TokenKind.COMMENT),
        (Keyword, TokenKind.KEYWORD),
        (Operator.Word, TokenKind.KEYWORD),
        (String, TokenKind.STRING),
        (Number, TokenKind.NUMBER),
        (Name.Function, TokenKind.NAME),
        (Name.Class, TokenKind.NAME),
        (Name.Builtin, TokenKind.NAME),
        (Name.Decorator, TokenKind.NAME),
        (Name.Tag, TokenKind.KEYWORD),
        (Name.Attribute, TokenKind.NAME),
    )
    return next((kind for parent, kind in kinds if token_type in parent), None)
