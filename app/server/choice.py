"""One reply of several to a request, as its events come in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from app.core.events import FinishReason, TokenLogprob, TokensGenerated, Usage
from app.engine.output_parser.deltas import (
    ContentDelta,
    Delta,
    ReasoningDelta,
    ToolCallArguments,
    ToolCallStarted,
)
from app.server.kept_deltas import KeptDeltas
from app.server.logprob_fields import to_content_logprobs, to_text_logprobs

JsonObject = dict[str, Any]


class Choice(ABC):
    """`add` and `finish` give the choices of chunks, `whole` the choice of a reply in one piece."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.usage: Usage | None = None

    @abstractmethod
    def begin(self) -> list[JsonObject]:
        """What a stream sends before the first token."""

    @abstractmethod
    def add(self, event: TokensGenerated) -> list[JsonObject]:
        """More tokens."""

    @abstractmethod
    def finish(self, reason: FinishReason, usage: Usage) -> list[JsonObject]:
        """No more tokens."""

    @abstractmethod
    def whole(self) -> JsonObject:
        """The finished choice."""

    @property
    def is_complete(self) -> bool:
        """Whether nothing of what may still come is wanted."""
        return False


class ChatChoice(Choice):
    """Content, reasoning and tool calls."""

    def __init__(self, index: int, deltas: KeptDeltas) -> None:
        super().__init__(index)
        self._deltas = deltas
        self._logprobs: list[TokenLogprob] | None = None
        self._finish_reason = ""

    def begin(self) -> list[JsonObject]:
        """See `Choice`."""
        return [self._chunk({"role": "assistant", "content": ""})]

    def add(self, event: TokensGenerated) -> list[JsonObject]:
        """See `Choice`; probabilities go with the first piece of text behind them."""
        if event.logprobs:
            self._logprobs = self._logprobs or []
            self._logprobs += event.logprobs
        logprobs = to_content_logprobs(event.logprobs) if event.logprobs else None
        chunks = self._write(self._deltas.add(event.text))
        if logprobs and not chunks:
            return [self._chunk({"content": ""}, logprobs)]
        if logprobs:
            chunks[0]["logprobs"] = logprobs
        return chunks

    def finish(self, reason: FinishReason, usage: Usage) -> list[JsonObject]:
        """See `Choice`."""
        self.usage = usage
        chunks = self._write(self._deltas.flush())
        self._finish_reason = self._name_end(reason)
        return [*chunks, self._chunk({}, finish_reason=self._finish_reason)]

    def whole(self) -> JsonObject:
        """See `Choice`."""
        reply = self._deltas.join()
        message: JsonObject = {"role": "assistant", "content": reply.content}
        if reply.reasoning:
            message["reasoning_content"] = reply.reasoning
        if reply.tool_calls:
            message["content"] = reply.content or None
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for call in reply.tool_calls
            ]
        return {
            "index": self.index,
            "message": message,
            "logprobs": None if self._logprobs is None else to_content_logprobs(self._logprobs),
            "finish_reason": self._finish_reason,
        }

    @property
    def is_complete(self) -> bool:
        """See `Choice`."""
        return self._deltas.is_complete

    def _write(self, deltas: Iterable[Delta]) -> list[JsonObject]:
        """A chunk for each that says anything."""
        return [self._chunk(fields) for delta in deltas if (fields := _to_fields(delta))]

    def _name_end(self, reason: FinishReason) -> str:
        if self._deltas.was_cut(reason):
            return "length"
        return "tool_calls" if self._deltas.has_calls else "stop"

    def _chunk(
        self,
        delta: JsonObject,
        logprobs: JsonObject | None = None,
        finish_reason: str | None = None,
    ) -> JsonObject:
        return {
            "index": self.index,
            "delta": delta,
            "logprobs": logprobs,
            "finish_reason": finish_reason,
        }


class TextChoice(Choice):
    """A text as the model writes it, behind `echo`."""

    def __init__(self, index: int, echo: str = "") -> None:
        super().__init__(index)
        self._echo = echo
        self._text = echo
        self._logprobs: list[TokenLogprob] | None = None
        self._finish_reason = ""

    def begin(self) -> list[JsonObject]:
        """See `Choice`."""
        return [self._chunk(self._echo)] if self._echo else []

    def add(self, event: TokensGenerated) -> list[JsonObject]:
        """See `Choice`."""
        if not event.text and not event.logprobs:
            return []
        logprobs = None
        if event.logprobs:
            logprobs = to_text_logprobs(event.logprobs, len(self._text))
            self._logprobs = self._logprobs or []
            self._logprobs += event.logprobs
        self._text += event.text
        return [self._chunk(event.text, logprobs)]

    def finish(self, reason: FinishReason, usage: Usage) -> list[JsonObject]:
        """See `Choice`."""
        self.usage = usage
        self._finish_reason = "length" if reason is FinishReason.LENGTH else "stop"
        return [self._chunk("", finish_reason=self._finish_reason)]

    def whole(self) -> JsonObject:
        """See `Choice`."""
        logprobs = self._logprobs
        return {
            "index": self.index,
            "text": self._text,
            "logprobs": None if logprobs is None else to_text_logprobs(logprobs, len(self._echo)),
            "finish_reason": self._finish_reason,
        }

    def _chunk(
        self, text: str, logprobs: JsonObject | None = None, finish_reason: str | None = None
    ) -> JsonObject:
        return {
            "index": self.index,
            "text": text,
            "logprobs": logprobs,
            "finish_reason": finish_reason,
        }


def _to_fields(delta: Delta) -> JsonObject:
    """The delta of a chunk; empty where there is nothing to say."""
    match delta:
        case ContentDelta(text):
            return {"content": text}
        case ReasoningDelta(text):
            return {"reasoning_content": text}
        case ToolCallStarted(index, call_id, name):
            function = {"name": name, "arguments": ""}
            call = {"index": index, "id": call_id, "type": "function", "function": function}
            return {"tool_calls": [call]}
        case ToolCallArguments(index, text):
            return {"tool_calls": [{"index": index, "function": {"arguments": text}}]}
    return {}
