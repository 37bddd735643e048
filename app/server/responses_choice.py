"""The reply of /v1/responses, and how it is written."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from itertools import count

from app.core.events import FinishReason, TokensGenerated, Usage
from app.server.choice import Choice, JsonObject
from app.server.error_map import ApiError
from app.server.json_bytes import to_json_bytes
from app.server.kept_deltas import KeptDeltas
from app.server.reply_form import ReplyForm
from app.server.responses_items import IN_PROGRESS
from app.server.responses_output import ResponsesOutput
from app.server.usage_fields import to_responses_usage


class ResponsesChoice(Choice):
    """What it gives are events with a `type`; `head` is what a response says of its request."""

    def __init__(self, deltas: KeptDeltas, head: JsonObject) -> None:
        super().__init__(0)
        self._deltas = deltas
        self._head = head
        self._output = ResponsesOutput()
        self._num_reasoning = 0
        self._num_untold = 0  # tokens whose text is held back until it is certain what it is
        self._status = IN_PROGRESS

    def begin(self) -> list[JsonObject]:
        """See `Choice`."""
        return [self._tell("response.created"), self._tell("response.in_progress")]

    def add(self, event: TokensGenerated) -> list[JsonObject]:
        """See `Choice`."""
        events = self._output.add(self._deltas.add(event.text), event.logprobs)
        self._num_untold += len(event.token_ids)
        if events:
            self._num_reasoning += self._num_untold if self._output.is_reasoning else 0
            self._num_untold = 0
        return events

    def finish(self, reason: FinishReason, usage: Usage) -> list[JsonObject]:
        """See `Choice`."""
        self.usage = usage
        was_cut = self._deltas.was_cut(reason)
        events = self._output.add(self._deltas.flush()) + self._output.end(was_cut=was_cut)
        self._status = "incomplete" if was_cut else "completed"
        return [*events, self._tell(f"response.{self._status}")]

    def fail(self, error: ApiError) -> JsonObject:
        """The event of a reply that ends within, with the nearest of OpenAI's few codes."""
        self._status = "failed"
        code = "invalid_prompt" if error.status == HTTPStatus.BAD_REQUEST else "server_error"
        event = self._tell("response.failed")
        event["response"]["error"] = {"code": code, "message": error.message}
        return event

    def whole(self) -> JsonObject:
        """See `Choice`."""
        was_cut = self._status == "incomplete"
        usage = self.usage
        return {
            **self._head,
            "status": self._status,
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if was_cut else None,
            "output": [] if self._status == IN_PROGRESS else self._output.describe(),
            "usage": None if usage is None else to_responses_usage(usage, self._num_reasoning),
        }

    @property
    def is_complete(self) -> bool:
        """See `Choice`."""
        return self._deltas.is_complete

    def _tell(self, kind: str) -> JsonObject:
        return {"type": kind, "response": self.whole()}


class ResponsesForm(ReplyForm):
    """Of one choice: its response, or its events, numbered and with their names outside too."""

    prompt_param = "input"

    def __init__(self, choice: ResponsesChoice) -> None:
        self._choice = choice
        self._numbers = count()

    def whole(self, _choices: Sequence[Choice]) -> JsonObject:
        """See `ReplyForm`."""
        return self._choice.whole()

    def frame(self, chunk: JsonObject) -> bytes:
        """See `ReplyForm`."""
        event = {"type": chunk["type"], "sequence_number": next(self._numbers), **chunk}
        return b"event: %b\ndata: %b\n\n" % (chunk["type"].encode(), to_json_bytes(event))

    def end(self, _choices: Sequence[Choice]) -> bytes:
        """Nothing: the last event says that it is one."""
        return b""

    def fail(self, error: ApiError) -> bytes:
        """See `ReplyForm`."""
        return self.frame(self._choice.fail(error))
