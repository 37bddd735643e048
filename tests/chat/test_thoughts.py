"""Thoughts and answer are told apart, also while they arrive."""

from __future__ import annotations

import pytest

from app.chat.thoughts import ReplyText, split_thoughts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello", ReplyText("", "Hello")),
        ("<think>\nHm.\n</think>\n\nHello", ReplyText("Hm.", "Hello")),
        ("\n<think>Hm.</think>Hello", ReplyText("Hm.", "Hello")),
        ("Hm.\n</think>\n\nHello", ReplyText("Hm.", "Hello")),
        ("<think></think>Hello", ReplyText("", "Hello")),
        ("<think>Hm", ReplyText("Hm", "", is_thinking=True)),
        ("<think>Hm.</thi", ReplyText("Hm.", "", is_thinking=True)),
        ("<thi", ReplyText("", "", is_thinking=True)),
        ("", ReplyText("", "")),
        ("Use <think> tags", ReplyText("", "Use <think> tags")),
        ("<think>a</think>b</think>c", ReplyText("a", "b</think>c")),
        ("<b>bold</b>", ReplyText("", "<b>bold</b>")),
    ],
)
def test_a_reply_is_split(text: str, expected: ReplyText) -> None:
    assert split_thoughts(text) == expected


def test_marks_in_part_are_never_shown() -> None:
    text = "<think>one two</think>three"
    for end in range(len(text)):
        parts = split_thoughts(text[:end])
        assert "<" not in parts.thought + parts.answer, text[:end]


def test_an_answer_that_tells_of_the_marks_is_no_thought() -> None:
    text = "Models write `<think>`, their thoughts and `</think>`."
    assert split_thoughts(text) == ReplyText("", text)
