"""Cuts growing Markdown into blocks: only the last one is drawn again while a reply streams. No Qt.

Block rules after CommonMark 0.31 (sections 3 and 4.5): blank lines end a paragraph, a fence ends
only at a fence of the same character that is at least as long, and an indented line after a blank
one continues a list item.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)[^`]*$")
_LIST_ITEM = re.compile(r"^( {0,3})([-*+]|\d{1,9}[.)])\s{1,4}")
# What may come right after a paragraph's line: not `-` alone, which would make a heading of it.
_FIRST_ITEM = re.compile(r"^ {0,3}([-*+]|1[.)])\s+\S")

_MAY_BECOME_ITEM = re.compile(r"^ {0,3}([-*+]|\d{0,9}[.)]?)$")


@dataclass(frozen=True, slots=True)
class Block:
    """`text` is Markdown, or the code alone when `is_code`; a closed one never changes. The items
    of a list are blocks, whose second and later ones go on with it (`continues_list`)."""

    text: str
    is_code: bool = False
    language: str = ""
    is_closed: bool = False
    continues_list: bool = False


class BlockSplitter:
    """Feeds on text as it arrives; `blocks` is always the whole reply so far."""

    def __init__(self) -> None:
        self._closed: list[Block] = []
        self._open_lines: list[str] = []
        self._continues_list = False
        self._fence = ""
        self._language = ""
        self._partial = ""

    def feed(self, text: str) -> None:
        """Appends text."""
        *lines, self._partial = (self._partial + text).split("\n")
        for line in lines:
            self._take_line(line)
        if self._partial and not self._fence and self._surely_starts_new_block(self._partial):
            self._begin_block(self._partial)

    @property
    def blocks(self) -> list[Block]:
        """Closed blocks, then the open one if it has any text."""
        return self.blocks_from(0)

    def blocks_from(self, start: int) -> list[Block]:
        """`blocks[start:]`, at no cost for those before."""
        tail = self._open_block()
        return [*self._closed[start:], tail] if tail else self._closed[start:]

    def _open_block(self) -> Block | None:
        lines = [*self._open_lines, self._partial] if self._partial else self._open_lines
        if self._fence:
            shown = lines if not self._closes_fence(self._partial) else self._open_lines
            return Block("\n".join(shown), is_code=True, language=self._language)
        text = "\n".join(lines)
        if _FENCE.match(self._partial):
            text = "\n".join(self._open_lines)  # half a fence is not shown as three back-ticks
        return Block(text, continues_list=self._continues_list) if text.strip() else None

    def _take_line(self, line: str) -> None:
        if self._fence:
            self._take_code_line(line)
        elif fence := _FENCE.match(line):
            self._close_text()
            self._fence, self._language = fence.group(1), fence.group(2).lower()
        elif not line.strip():
            self._open_lines.append("")
        else:
            if self._starts_new_block(line):
                self._begin_block(line)
            self._open_lines.append(line)

    def _starts_new_block(self, line: str) -> bool:
        """An item of a list; after a blank line, all but what may go on with an item."""
        if not self._open_lines:
            return False
        is_first_line = not self._open_lines[-1]
        if (open_item := _LIST_ITEM.match(self._open_lines[0])) is None:
            return is_first_line or bool(_FIRST_ITEM.match(line))
        item = _LIST_ITEM.match(line)
        if item and len(item[1]) < len(open_item[0]):  # else it is one of a list in the item
            return True
        return is_first_line and not line.startswith((" ", "\t"))

    def _begin_block(self, line: str) -> None:
        """Closes the open one before the one that begins with `line`."""
        open_item, item = _LIST_ITEM.match(self._open_lines[0]), _LIST_ITEM.match(line)
        continues = bool(open_item and item and open_item[2][-1] == item[2][-1])
        self._close_text()
        self._continues_list = continues

    def _surely_starts_new_block(self, partial: str) -> bool:
        """The same for a line that may go on: `1` could still become the item `1. two`."""
        return self._starts_new_block(partial) and not _MAY_BECOME_ITEM.match(partial)

    def _take_code_line(self, line: str) -> None:
        if self._closes_fence(line):
            self._closed.append(
                Block("\n".join(self._open_lines), True, self._language, is_closed=True)
            )
            self._open_lines, self._fence, self._language = [], "", ""
        else:
            self._open_lines.append(line)

    def _closes_fence(self, line: str) -> bool:
        bare = line.strip()
        return len(bare) >= len(self._fence) and set(bare) == {self._fence[0]}

    def _close_text(self) -> None:
        text = "\n".join(self._open_lines).rstrip("\n")
        if text.strip():
            continues_list = self._continues_list
            self._closed.append(Block(text, is_closed=True, continues_list=continues_list))
        self._open_lines = []
        self._continues_list = False


def split_blocks(text: str) -> list[Block]:
    """All blocks of a finished text."""
    splitter = BlockSplitter()
    splitter.feed(text)
    return splitter.blocks


def count_together(blocks: Sequence[Block], max_chars: int) -> int:
    """How many of the first blocks can be written as one: text that will not change."""
    num_chars = count = 0
    for block in blocks:
        num_chars += len(block.text)
        if block.is_code or not block.is_closed or (count and num_chars > max_chars):
            break
        count += 1
    return max(count, 1)


def join_blocks(blocks: Sequence[Block]) -> Block:
    """Blocks of text as one, which Markdown takes apart again."""
    first = blocks[0]
    if len(blocks) == 1:
        return first
    rest = (("\n" if block.continues_list else "\n\n") + block.text for block in blocks[1:])
    return replace(first, text=first.text + "".join(rest))
