"""What a caller asks of the engine."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from app.core.sampling_settings import SamplingSettings
from app.engine.constraint import Constraint

Role = Literal["system", "developer", "user", "assistant", "tool"]
MAX_LOGPROBS = 20  # OpenAI's limit of `top_logprobs`


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the assistant made; `arguments` is a JSON object as text, as OpenAI has it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation.

    `content` is plain text: whoever takes OpenAI's list of content parts joins the texts of its
    text parts with a line break, and refuses images and audio in one sentence. `tool_calls` and
    `reasoning_content` are the assistant's, `tool_call_id` and `name` those of a tool's result.
    """

    role: Role
    content: str
    name: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    reasoning_content: str | None = None


@dataclass(frozen=True, slots=True)
class ForcedTool:
    """The reply must be a call of the tool `name`, or of any tool where that is None.

    OpenAI's `tool_choice`: a named function, `required`. For `auto` a request has none of this, for
    `none` it has no tools either.
    """

    name: str | None = None


class OverflowPolicy(StrEnum):
    """What becomes of a conversation that is longer than the context.

    STOP refuses a prompt that leaves no room and ends a reply with `length`. DROP_OLDEST leaves out
    the oldest turns behind the system prompt, before anything is computed, and says so.
    """

    STOP = "stop"
    DROP_OLDEST = "drop_oldest"


@dataclass(frozen=True, slots=True)
class SamplingParams(SamplingSettings):
    """What a port's clients may ask besides.

    ignore_eos draws on behind the model's own end of text, for measurements. logit_bias: pairs of
    token id and what is added to its logit, before penalties; -100 rules a token out, in effect.
    min_tokens: so many tokens come before any that ends the reply. stop_token_ids end it as the
    model's own end of text does.
    """

    ignore_eos: bool = False
    logit_bias: tuple[tuple[int, float], ...] = ()
    min_tokens: int = 0
    stop_token_ids: tuple[int, ...] = ()


def create_request_id() -> str:
    """A fresh id, unique across processes."""
    return uuid.uuid4().hex


@dataclass(frozen=True, slots=True)
class Request:
    """A chat (`messages`, for the model's template) or a raw `prompt`; exactly one of both.

    prompt: text, or token ids that are taken as they are. tools: OpenAI's objects of type
    `function`, for the template. template_kwargs: further variables of the template, such as
    `enable_thinking` or `documents`. shows_markers: the caller takes the text apart with
    `app.engine.output_parser`: the special tokens that its format is written with stay in it. Else
    thoughts stand between `<think>` and `</think>`, however the model marks them, and all special
    tokens are left out. num_logprobs: None for none, 0 for those of the chosen tokens, up to 20 for
    those of the likeliest besides. priority: lower goes first; the window's chat has 0, the port 1.
    continues_reply: the last message is a reply that goes on where it ends. client: who asks, as
    shown in the list of requests. cache_key: the conversation whose KV cache is kept on disk.
    """

    messages: tuple[Message, ...] = ()
    prompt: str | tuple[int, ...] | None = None
    sampling: SamplingParams = field(default_factory=SamplingParams)
    request_id: str = field(default_factory=create_request_id)
    tools: tuple[Mapping[str, Any], ...] = ()
    forced_tool: ForcedTool | None = None
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    constraint: Constraint | None = None
    shows_markers: bool = False
    num_logprobs: int | None = None
    priority: int = 0
    overflow: OverflowPolicy = OverflowPolicy.STOP
    continues_reply: bool = False
    client: str = ""
    cache_key: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """What somebody has written or the model has said: none of it belongs into a log."""
        prompt = (self.prompt,) if isinstance(self.prompt, str) else ()
        return (*prompt, *(message.content for message in self.messages))
