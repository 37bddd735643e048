"""What a reply consists of, in the order in which it is written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.engine.request import ToolCall


@dataclass(frozen=True, slots=True)
class ContentDelta:
    """More of what the user is told."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of what the model thinks before it answers."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallStarted:
    """The `index`-th call of the reply, from 0; its arguments follow."""

    index: int
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ToolCallArguments:
    """More of the JSON text of a call's arguments."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class ToolCallEnded:
    """All arguments are there. The reply may have been cut: then they are no whole JSON."""

    index: int


Delta = ContentDelta | ReasoningDelta | ToolCallStarted | ToolCallArguments | ToolCallEnded


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """A whole reply; `reasoning` is empty where there was none."""

    content: str
    reasoning: str
    tool_calls: tuple[ToolCall, ...]


def join_deltas(deltas: Iterable[Delta]) -> ParsedReply:
    """What the deltas of one reply add up to."""
    content, reasoning = "", ""
    calls: dict[int, ToolCall] = {}
    for delta in deltas:
        match delta:
            case ContentDelta(text):
                content += text
            case ReasoningDelta(text):
                reasoning += text
            case ToolCallStarted(index, call_id, name):
                calls[index] = ToolCall(call_id, name, "")
            case ToolCallArguments(index, text):
                call = calls[index]
                calls[index] = ToolCall(call.id, call.name, call.arguments + text)
            case ToolCallEnded():
                pass
    return ParsedReply(content, reasoning, tuple(calls[index] for index in sorted(calls)))
