"""From the body of /v1/chat/completions to what the engine is asked for."""

from __future__ import annotations

from typing import Any

from app.engine.constraint import Constraint, JsonObject, JsonSchema
from app.engine.request import ForcedTool, Message, Request, SamplingParams, ToolCall
from app.server.chat_schema import (
    ChatCompletionRequest,
    ChatMessage,
    ContentPart,
    JsonObjectFormat,
    JsonSchemaFormat,
    NamedTool,
)
from app.server.error_map import ApiError
from app.server.sampling_fields import seed_of_choice, to_sampling

PORT_PRIORITY = 1  # behind the window's chat


def to_chat_requests(
    body: ChatCompletionRequest, defaults: SamplingParams, client: str
) -> list[Request]:
    """One request for each choice; raises ApiError for what cannot be meant or is not done here."""
    max_tokens = body.max_completion_tokens or body.max_tokens
    sampling = to_sampling(body, defaults, max_tokens)
    messages = tuple(_to_message(message, i) for i, message in enumerate(body.messages))
    forced_tool, tools = _to_forced_tool(body), _to_tools(body)
    constraint = _to_constraint(body)
    return [
        Request(
            messages=messages,
            sampling=seed_of_choice(sampling, index),
            tools=tools,
            forced_tool=forced_tool,
            template_kwargs=_to_template_kwargs(body),
            constraint=constraint,
            shows_markers=True,
            continues_reply=bool(body.continue_final_message),
            num_logprobs=_to_num_logprobs(body),
            priority=PORT_PRIORITY,
            client=client,
        )
        for index in range(body.num_choices)
    ]


def _to_message(message: ChatMessage, index: int) -> Message:
    return Message(
        role=message.role,
        content=_to_text(message.content, f"messages[{index}].content"),
        name=message.name,
        tool_calls=tuple(
            ToolCall(call.id, call.function.name, call.function.arguments)
            for call in message.tool_calls or ()
        ),
        tool_call_id=message.tool_call_id,
        reasoning_content=message.reasoning_content,
    )


def _to_text(content: str | list[ContentPart] | None, param: str) -> str:
    if isinstance(content, str) or content is None:
        return content or ""
    return "\n".join(_part_text(part, f"{param}[{i}]") for i, part in enumerate(content))


def _part_text(part: ContentPart, param: str) -> str:
    if part.type != "text":
        raise ApiError(
            400,
            f"This model reads text; a content part of type `{part.type}` is nothing to it.",
            param=f"{param}.type",
            code="unsupported_content",
        )
    if part.text is None:
        raise ApiError(400, "A content part of type `text` has no text.", param=f"{param}.text")
    return part.text


def _to_tools(body: ChatCompletionRequest) -> tuple[dict[str, Any], ...]:
    """With `none` the model is not told of them."""
    if body.tool_choice == "none":
        return ()
    return tuple(tool.model_dump(exclude_none=True) for tool in body.tools or ())


def _to_forced_tool(body: ChatCompletionRequest) -> ForcedTool | None:
    choice = body.tool_choice
    if choice in (None, "none", "auto"):
        return None
    names = [tool.function.name for tool in body.tools or ()]
    if not names:
        raise ApiError(400, "tool_choice asks for a call, but there are no tools.", param="tools")
    if not isinstance(choice, NamedTool):
        return ForcedTool()
    if choice.function.name not in names:
        raise ApiError(
            400,
            f"tool_choice names `{choice.function.name}`, which is none of the tools.",
            param="tool_choice",
        )
    return ForcedTool(choice.function.name)


def _to_constraint(body: ChatCompletionRequest) -> Constraint | None:
    match body.response_format:
        case JsonObjectFormat():
            return JsonObject()
        case JsonSchemaFormat(json_schema=wanted):
            # OpenAI's `schema` may be left out: then any object is right.
            return JsonObject() if wanted.schema_ is None else JsonSchema(wanted.schema_)
    return None


def _to_template_kwargs(body: ChatCompletionRequest) -> dict[str, Any]:
    effort = {"reasoning_effort": body.reasoning_effort} if body.reasoning_effort else {}
    return effort | (body.chat_template_kwargs or {})


def _to_num_logprobs(body: ChatCompletionRequest) -> int | None:
    if body.logprobs:
        return body.top_logprobs or 0
    if body.top_logprobs is not None:
        raise ApiError(400, "top_logprobs needs logprobs to be true.", param="top_logprobs")
    return None
