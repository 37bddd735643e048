"""The bodies of replies, whole and in chunks, as the OpenAPI document declares them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

FinishReasonName = Literal["stop", "length", "tool_calls"]


class ReplyModel(BaseModel):
    """An object in a reply: what is not set is not sent."""

    model_config = ConfigDict(extra="allow")


class ApiErrorFields(ReplyModel):
    """One sentence, and what programs go by."""

    message: str
    type: str
    param: str | None
    code: str | None


class ApiErrorReply(ReplyModel):
    """Every reply that is no success."""

    error: ApiErrorFields


class CachedTokens(ReplyModel):
    """Tokens of the prompt that were in the KV cache already."""

    cached_tokens: int


class UsageFields(ReplyModel):
    """Tokens of the prompt, counted once, and of all choices."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: CachedTokens


class TopLogprob(ReplyModel):
    """A token that might have been drawn."""

    token: str
    logprob: float
    bytes: list[int]


class ContentLogprob(TopLogprob):
    """A token that was drawn, and the likeliest ones at its place."""

    top_logprobs: list[TopLogprob]


class ChoiceLogprobs(ReplyModel):
    """One entry for each token."""

    content: list[ContentLogprob]


class FunctionFields(ReplyModel):
    """`arguments` is a JSON object as text."""

    name: str
    arguments: str


class ToolCallFields(ReplyModel):
    """A call that the model asks for."""

    id: str
    type: Literal["function"]
    function: FunctionFields


class ReplyMessage(ReplyModel):
    """`reasoning_content` is what a model thought aloud before its answer."""

    role: Literal["assistant"]
    content: str | None
    reasoning_content: str | None = None
    tool_calls: list[ToolCallFields] | None = None


class ChatChoice(ReplyModel):
    """One of the replies."""

    index: int
    message: ReplyMessage
    logprobs: ChoiceLogprobs | None
    finish_reason: FinishReasonName


class ChatCompletion(ReplyModel):
    """The reply of /v1/chat/completions; streams send `chat.completion.chunk` objects instead."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[ChatChoice]
    usage: UsageFields


class TextLogprobs(ReplyModel):
    """The lists have one entry for each token; `text_offset` counts characters."""

    tokens: list[str]
    token_logprobs: list[float]
    top_logprobs: list[dict[str, float]]
    text_offset: list[int]


class TextChoice(ReplyModel):
    """One of the replies."""

    index: int
    text: str
    logprobs: TextLogprobs | None
    finish_reason: FinishReasonName


class Completion(ReplyModel):
    """The reply of /v1/completions."""

    id: str
    object: Literal["text_completion"]
    created: int
    model: str
    choices: list[TextChoice]
    usage: UsageFields


class ModelCard(ReplyModel):
    """A model that can be asked; `max_model_len` is its context in tokens, as vLLM tells it."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    max_model_len: int


class ModelList(ReplyModel):
    """The loaded model, or none."""

    object: Literal["list"]
    data: list[ModelCard]


class Health(ReplyModel):
    """`ready` when a model is loaded."""

    status: str
    model: str | None
