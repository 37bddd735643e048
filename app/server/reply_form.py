"""How an endpoint writes what its choices give: in one piece, or as the frames of a stream."""

from __future__ import annotations

import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from app.server.choice import Choice, JsonObject
from app.server.error_map import ApiError
from app.server.json_bytes import to_json_bytes
from app.server.usage_fields import to_usage_fields

DONE = b"data: [DONE]\n\n"


class ReplyForm(ABC):
    """`prompt_param` is the field that is at fault where the prompt is too long."""

    prompt_param: str

    @abstractmethod
    def whole(self, choices: Sequence[Choice]) -> JsonObject:
        """The body of a reply in one piece."""

    @abstractmethod
    def frame(self, chunk: JsonObject) -> bytes:
        """One event of a stream, for what a choice gave."""

    @abstractmethod
    def end(self, choices: Sequence[Choice]) -> bytes:
        """What a stream sends behind the last chunk of all choices."""

    @abstractmethod
    def fail(self, error: ApiError) -> bytes:
        """The last event of a stream that has failed."""


@dataclass(frozen=True, slots=True)
class CompletionForm(ReplyForm):
    """Both kinds of completions: objects with a list of choices.

    `usage_in_stream` asks for a last chunk that counts the tokens.
    """

    model: str
    kind: str
    chunk_kind: str
    id_prefix: str
    prompt_param: str
    choices_per_prompt: int = 1
    usage_in_stream: bool = False
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, choices: Sequence[Choice]) -> JsonObject:
        """See `ReplyForm`."""
        written = [choice.whole() for choice in choices]
        return self._write(self.kind, written, usage=self._usage(choices))

    def frame(self, chunk: JsonObject) -> bytes:
        """See `ReplyForm`."""
        return self._frame([chunk])

    def end(self, choices: Sequence[Choice]) -> bytes:
        """See `ReplyForm`."""
        count = self._frame([], self._usage(choices)) if self.usage_in_stream else b""
        return count + DONE

    def fail(self, error: ApiError) -> bytes:
        """See `ReplyForm`."""
        return _to_frame(error.body)

    def _usage(self, choices: Sequence[Choice]) -> JsonObject:
        usages = [choice.usage for choice in choices if choice.usage is not None]
        return to_usage_fields(usages, self.choices_per_prompt)

    def _frame(self, chunks: list[JsonObject], usage: JsonObject | None = None) -> bytes:
        further = {"usage": usage} if self.usage_in_stream else {}
        return _to_frame(self._write(self.chunk_kind, chunks, **further))

    def _write(self, kind: str, choices: Sequence[JsonObject], **further: Any) -> JsonObject:
        return {
            "id": f"{self.id_prefix}-{self.id}",
            "object": kind,
            "created": self.created,
            "model": self.model,
            "choices": choices,
            **further,
        }


def _to_frame(document: JsonObject) -> bytes:
    return b"data: " + to_json_bytes(document) + b"\n\n"
