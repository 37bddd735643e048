"""Titles made from first messages."""

from __future__ import annotations

import pytest

from app.chat.transcript import TITLE_MAX_CHARS, title_from_text


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Hello", "Hello"),
        ("\n\n  What is a GGUF?  \nAnd why?", "What is a GGUF?"),
        ("word " * 30, ("word " * 12).strip() + "…"),
        ("字" * 100, "字" * TITLE_MAX_CHARS + "…"),
        ("   ", ""),
    ],
)
def test_title_is_the_first_line_cut_at_a_word(text: str, title: str) -> None:
    assert title_from_text(text) == title
