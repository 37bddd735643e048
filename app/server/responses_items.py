"""The items of a response's `output` while they are written, and the events that tell of them.

https://platform.openai.com/docs/api-reference/responses-streaming
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Sequence

from app.core.events import TokenLogprob
from app.server.choice import JsonObject
from app.server.logprob_fields import to_content_logprobs

ItemStatus = str
IN_PROGRESS, COMPLETED, INCOMPLETE = "in_progress", "completed", "incomplete"


class OutputItem(ABC):
    """One item, the `index`-th of its response. Each event is an object with its `type`."""

    prefix: str

    def __init__(self, index: int) -> None:
        self._index = index
        self._text = ""
        self._id = f"{self.prefix}_{uuid.uuid4().hex}"

    @abstractmethod
    def begin(self) -> list[JsonObject]:
        """It is there, and empty."""

    @abstractmethod
    def add(self, text: str, logprobs: Sequence[TokenLogprob] = ()) -> list[JsonObject]:
        """More of its text, with the probabilities of the tokens that it was made of."""

    @abstractmethod
    def end(self, status: ItemStatus) -> list[JsonObject]:
        """Nothing more comes."""

    @abstractmethod
    def describe(self, status: ItemStatus) -> JsonObject:
        """The item as far as it is written; in progress it stands without its content."""

    def _tell_added(self) -> JsonObject:
        return self._tell("response.output_item.added", item=self.describe(IN_PROGRESS))

    def _tell_done(self, status: ItemStatus) -> JsonObject:
        return self._tell("response.output_item.done", item=self.describe(status))

    def _tell(self, kind: str, **fields: object) -> JsonObject:
        return {"type": kind, "output_index": self._index, **fields}

    def _tell_of(self, kind: str, **fields: object) -> JsonObject:
        return self._tell(kind, item_id=self._id, **fields)


class TextItem(OutputItem):
    """An item with one part of text."""

    part_type: str

    def begin(self) -> list[JsonObject]:
        """See `OutputItem`."""
        return [
            self._tell_added(),
            self._tell_of_part("response.content_part.added", part=self._part()),
        ]

    def add(self, text: str, logprobs: Sequence[TokenLogprob] = ()) -> list[JsonObject]:
        """See `OutputItem`."""
        self._text += text
        further = self._note_logprobs(logprobs)
        return [self._tell_of_part(f"response.{self.part_type}.delta", delta=text, **further)]

    def end(self, status: ItemStatus) -> list[JsonObject]:
        """See `OutputItem`."""
        further = self._all_logprobs()
        return [
            self._tell_of_part(f"response.{self.part_type}.done", text=self._text, **further),
            self._tell_of_part("response.content_part.done", part=self._part()),
            self._tell_done(status),
        ]

    def _content(self, status: ItemStatus) -> list[JsonObject]:
        return [] if status == IN_PROGRESS else [self._part()]

    def _part(self) -> JsonObject:
        return {"type": self.part_type, "text": self._text}

    def _note_logprobs(self, _logprobs: Sequence[TokenLogprob]) -> JsonObject:
        """What a delta says of them."""
        return {}

    def _all_logprobs(self) -> JsonObject:
        return {}

    def _tell_of_part(self, kind: str, **fields: object) -> JsonObject:
        return self._tell_of(kind, content_index=0, **fields)


class MessageItem(TextItem):
    """What the user is told."""

    prefix, part_type = "msg", "output_text"

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self._logprobs: list[JsonObject] = []

    def describe(self, status: ItemStatus) -> JsonObject:
        """See `OutputItem`."""
        return {
            "id": self._id,
            "type": "message",
            "status": status,
            "role": "assistant",
            "content": self._content(status),
        }

    def _part(self) -> JsonObject:
        return {**super()._part(), "annotations": [], "logprobs": list(self._logprobs)}

    def _note_logprobs(self, logprobs: Sequence[TokenLogprob]) -> JsonObject:
        written = to_content_logprobs(logprobs)["content"]
        self._logprobs += written
        return {"logprobs": written}

    def _all_logprobs(self) -> JsonObject:
        return {"logprobs": list(self._logprobs)}


class ReasoningItem(TextItem):
    """What the model thinks before it answers, itself and not a summary."""

    prefix, part_type = "rs", "reasoning_text"

    def describe(self, status: ItemStatus) -> JsonObject:
        """See `OutputItem`."""
        return {
            "id": self._id,
            "type": "reasoning",
            "status": status,
            "summary": [],
            "content": self._content(status),
        }


class CallItem(OutputItem):
    """A call that the model asks for; its text are the arguments."""

    prefix = "fc"

    def __init__(self, index: int, call_id: str, name: str) -> None:
        super().__init__(index)
        self._call_id = call_id
        self._name = name

    def begin(self) -> list[JsonObject]:
        """See `OutputItem`."""
        return [self._tell_added()]

    def add(self, text: str, _logprobs: Sequence[TokenLogprob] = ()) -> list[JsonObject]:
        """See `OutputItem`."""
        self._text += text
        return [self._tell_of("response.function_call_arguments.delta", delta=text)]

    def end(self, status: ItemStatus) -> list[JsonObject]:
        """See `OutputItem`."""
        kind = "response.function_call_arguments.done"
        return [
            self._tell_of(kind, name=self._name, arguments=self._text),
            self._tell_done(status),
        ]

    def describe(self, status: ItemStatus) -> JsonObject:
        """See `OutputItem`."""
        return {
            "id": self._id,
            "type": "function_call",
            "status": status,
            "call_id": self._call_id,
            "name": self._name,
            "arguments": "" if status == IN_PROGRESS else self._text,
        }
