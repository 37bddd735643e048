"""The reply of /v1/responses in one piece, as the OpenAPI document declares it."""

from __future__ import annotations

from typing import Any, Literal

from app.server.reply_schema import CachedTokens, ReplyModel

StatusName = Literal["completed", "incomplete"]


class OutputItemFields(ReplyModel):
    """`message`: what the user is told, in `content`; `reasoning`: what the model thought, there
    too; `function_call`: a call that the client is to make, in `call_id`, `name`, `arguments`."""

    id: str
    type: Literal["message", "reasoning", "function_call"]
    status: StatusName


class IncompleteDetails(ReplyModel):
    """Why a reply ends where it does."""

    reason: Literal["max_output_tokens"]


class ReasoningTokens(ReplyModel):
    """Tokens that came while the model was thinking."""

    reasoning_tokens: int


class ResponsesUsage(ReplyModel):
    """Tokens of the prompt and of the reply."""

    input_tokens: int
    input_tokens_details: CachedTokens
    output_tokens: int
    output_tokens_details: ReasoningTokens
    total_tokens: int


class ResponsesReply(ReplyModel):
    """Streams send its events; the last of them holds this object."""

    id: str
    object: Literal["response"]
    created_at: int
    status: StatusName
    error: None
    incomplete_details: IncompleteDetails | None
    model: str
    output: list[OutputItemFields]
    parallel_tool_calls: bool
    temperature: float
    tool_choice: str | dict[str, Any]
    tools: list[dict[str, Any]]
    top_p: float
    usage: ResponsesUsage
