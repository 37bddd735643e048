"""Cuts growing Markdown into blocks: only the last one is drawn again while a reply streams. No Qt.

Block rules after CommonMark 0.31 (sections 3 and 4.5): blank lines end a paragraph, a fence ends
only at a fence of the same character that is at least as long, and an indented line after a blank
one continues a list item.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)[^`]*$")
_LIST_ITEM = re.compile(r"^ {0,3}([-*+]|\d{1,9}[.)])\s")

_MAY_BECOME_ITEM = re.compile(r"^ {0,3}([-*+]|\d{0,9}[.)]?)$")


@dataclass(frozen=True, slots=True)
class Block:
    """`text` is Markdown, or the code alone when `is_code`; a closed one never changes."""

    text: str
    is_code: bool = False
    language: str = ""
    is_closed: bool = False


class BlockSplitter:
    """Feeds on text as it arrives; `blocks` is always the whole reply so far."""

    def __init__(self) -> None:
        self._closed: list[Block] = []
        self._open_lines: list[str] = []
        self._fence = ""
        self._language = ""
        self._partial = ""

    def feed(self, text: str) -> None:
        """Appends text."""
        *lines, self._partial = (self._partial + text).split("\n")
        for line in lines:
            self._take_line(line)
        if self._partial and not self._fence and self._surely_starts_new_block(self._partial):
            self._close_text()

    @property
    def blocks(self) -> list[Block]:
        """Closed blocks, then the open one if it has any text."""
        tail = self._open_block()
        return [*self._closed, tail] if tail else list(self._closed)

    @property
    def num_closed(self) -> int:
        """How many leading entries of `blocks` will never change."""
        return len(self._closed)

    def _open_block(self) -> Block | None:
        lines = [*self._open_lines, self._partial] if self._partial else self._open_lines
        if self._fence:
            shown = lines if not self._closes_fence(self._partial) else self._open_lines
            return Block("\n".join(shown), is_code=True, language=self._language)
        text = "\n".join(lines)
        if _FENCE.match(self._partial):
            text = "\n".join(self._open_lines)  # half a fence is not shown as three back-ticks
        return Block(text) if text.strip() else None

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
                self._close_text()
            self._open_lines.append(line)

    def _starts_new_block(self, line: str) -> bool:
        """After a blank line: all but what may go on with a list, whose numbers must stay whole."""
        if not self._open_lines or self._open_lines[-1]:
            return False
        in_list = any(_LIST_ITEM.match(earlier) for earlier in self._open_lines[:1])
        return not (in_list and (line.startswith((" ", "\t")) or _LIST_ITEM.match(line)))

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
            self._closed.append(Block(text, is_closed=True))
        self._open_lines = []


def split_blocks(text: str) -> list[Block]:
    """All blocks of a finished text."""
    splitter = BlockSplitter()
    splitter.feed(text)
    return splitter.blocks
