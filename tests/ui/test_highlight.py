"""Spans of code."""

from __future__ import annotations

import subprocess
import sys

from app.ui.highlight import Span, TokenKind, find_spans


def test_spans_stand_where_the_tokens_are() -> None:
    spans = list(find_spans('def f():\n    return "a"  # why', "python"))
    assert Span(0, 0, 3, TokenKind.KEYWORD) in spans
    assert Span(0, 4, 1, TokenKind.NAME) in spans
    assert Span(1, 4, 6, TokenKind.KEYWORD) in spans
    assert Span(1, 16, 5, TokenKind.COMMENT) in spans


def test_spans_of_a_token_over_several_lines() -> None:
    spans = list(find_spans('"""one\ntwo"""', "python"))
    assert Span(0, 0, 6, TokenKind.STRING) in spans
    assert Span(1, 0, 6, TokenKind.STRING) in spans


def test_unknown_language_has_no_spans() -> None:
    assert list(find_spans("anything", "no-such-language")) == []
    assert list(find_spans("anything", "")) == []


def test_pygments_waits_for_the_first_code_block() -> None:
    code = "import sys, app.ui.highlight; print('pygments' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
