"""What a model thinks before it answers: the part of a reply between `<think>` and `</think>`.

Qwen3 and DeepSeek-R1 write it so; templates that open the block in the prompt leave the first mark
out of the reply.
"""

from __future__ import annotations

from dataclasses import dataclass

OPENING, CLOSING = "<think>", "</think>"


@dataclass(frozen=True, slots=True)
class ReplyText:
    """A reply in two: what was thought and what is said. `is_thinking`: the former goes on."""

    thought: str
    answer: str
    is_thinking: bool = False


def split_thoughts(text: str) -> ReplyText:
    """Of a reply so far; a mark that has only come in part is in neither."""
    start = text.lstrip()
    if start.startswith(OPENING) or (start and OPENING.startswith(start)):
        return _split(start[len(OPENING) :])
    before, mark, _ = text.partition(CLOSING)
    if mark and OPENING not in before:  # an answer that tells of both marks has no thoughts
        return _split(text)
    return ReplyText("", text)


def _split(text: str) -> ReplyText:
    thought, mark, answer = text.partition(CLOSING)
    if mark:
        return ReplyText(thought.strip(), answer.lstrip("\n"))
    return ReplyText(_without_part_of(CLOSING, thought).strip(), "", is_thinking=True)


def _without_part_of(mark: str, text: str) -> str:
    for length in range(len(mark) - 1, 0, -1):
        if text.endswith(mark[:length]):
            return text[:-length]
    return text
