"""Blocks of growing Markdown: the same however the text arrives, and never changed once closed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ui.markdown_blocks import Block, BlockSplitter, split_blocks

LINES = st.sampled_from(
    [
        "",
        "word",
        "- item",
        "  more",
        "1. one",
        "```python",
        "```",
        "~~~",
        "    code",
        "# head",
        "| a |",
        "``",
    ]
)
TEXTS = st.lists(LINES, max_size=14).map("\n".join)


def kinds(text: str) -> list[tuple[bool, str]]:
    return [(block.is_code, block.text) for block in split_blocks(text)]


def test_paragraphs_end_at_blank_lines() -> None:
    assert kinds("one\nstill one\n\ntwo") == [(False, "one\nstill one"), (False, "two")]


def test_fence_becomes_code_with_its_language() -> None:
    blocks = split_blocks("see:\n```Python\nx = 1\n\ny = 2\n```\nafter")
    assert blocks[1] == Block("x = 1\n\ny = 2", is_code=True, language="python", is_closed=True)
    assert [block.text for block in blocks] == ["see:", "x = 1\n\ny = 2", "after"]


def test_fence_ends_only_at_an_equal_one() -> None:
    assert kinds("````\n```\n~~~~\n````\n") == [(True, "```\n~~~~")]


def test_open_fence_is_code_so_far() -> None:
    splitter = BlockSplitter()
    splitter.feed("```rust\nfn main")
    assert splitter.blocks == [Block("fn main", is_code=True, language="rust")]


@pytest.mark.parametrize("begin", ["``", "```", "```py"])
def test_half_a_fence_is_not_shown_as_text(begin: str) -> None:
    splitter = BlockSplitter()
    splitter.feed(f"text\n\n{begin}")
    shown = "".join(block.text for block in splitter.blocks)
    assert "```" not in shown


def test_closing_fence_is_not_shown_before_its_line_ends() -> None:
    splitter = BlockSplitter()
    splitter.feed("```\ncode\n```")
    assert splitter.blocks == [Block("code", is_code=True)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "1. one\n\n2. two\n\n   still two\n\nafter",
            ["1. one", "+2. two\n\n   still two", "after"],
        ),
        (
            "- one\nlazy\n- two\n  - in two\n- three",
            ["- one\nlazy", "+- two\n  - in two", "+- three"],
        ),
        ("See:\n- one\n- two", ["See:", "- one", "+- two"]),
        ("Title\n- \n", ["Title\n- "]),
        ("- one\n* other\n1. third", ["- one", "* other", "1. third"]),
        ("in 1999\n2. was good", ["in 1999\n2. was good"]),
    ],
)
def test_items_are_blocks_that_go_on_with_their_list(text: str, expected: list[str]) -> None:
    blocks = split_blocks(text)
    assert ["+" * block.continues_list + block.text for block in blocks] == expected


@given(TEXTS, st.integers(min_value=1, max_value=7))
def test_pieces_do_not_matter(text: str, size: int) -> None:
    splitter = BlockSplitter()
    for start in range(0, len(text), size):
        splitter.feed(text[start : start + size])
    assert splitter.blocks == split_blocks(text)


@given(TEXTS)
def test_closed_blocks_never_change(text: str) -> None:
    splitter = BlockSplitter()
    closed: list[Block] = []
    for character in text:
        splitter.feed(character)
        assert splitter.blocks[: len(closed)] == closed
        closed = [block for block in splitter.blocks if block.is_closed]


@given(TEXTS)
def test_every_word_is_shown(text: str) -> None:
    shown = "\n".join(block.text for block in split_blocks(text))
    for word in ("word", "item", "head"):
        assert shown.count(word) == text.count(word)
