"""From the body of /v1/responses to that of a chat completion, which asks for the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.server.chat_schema import (
    AssistantCall,
    CalledFunction,
    ChatCompletionRequest,
    ChatMessage,
    FunctionTool,
    JsonObjectFormat,
    JsonSchemaFormat,
    NamedFunction,
    NamedTool,
    ResponseFormat,
    Tool,
    ToolChoice,
)
from app.server.error_map import ApiError
from app.server.responses_schema import (
    ChosenFunction,
    InputCall,
    InputCallResult,
    InputItem,
    InputMessage,
    InputPart,
    InputReasoning,
    ResponsesRequest,
    ResponsesTool,
)

_LOGPROBS = "message.output_text.logprobs"
# What only a server that stores responses can do.
_STORED = ("previous_response_id", "conversation", "prompt", "background")
_TEXTS = ("input_text", "output_text", "reasoning_text", "text")


def to_chat_body(body: ResponsesRequest) -> ChatCompletionRequest:
    """Raises ApiError for what cannot be meant or is not done here."""
    for name in _STORED:
        if getattr(body, name):
            raise ApiError(
                400,
                f"{name} is not supported: no responses are stored here. Send the whole "
                "conversation as `input`.",
                param=name,
                code="unsupported_parameter",
            )
    wants_logprobs = _LOGPROBS in (body.include or ()) or bool(body.top_logprobs)
    return ChatCompletionRequest(
        messages=_to_messages(body),
        max_completion_tokens=body.max_output_tokens,
        temperature=body.temperature,
        top_p=body.top_p,
        repetition_penalty=None,  # no word of this endpoint
        logprobs=wants_logprobs,
        top_logprobs=body.top_logprobs if wants_logprobs else None,
        response_format=_to_format(body),
        tools=_to_tools(body),
        tool_choice=_to_choice(body),
        parallel_tool_calls=body.parallel_tool_calls,
        reasoning_effort=body.reasoning.effort if body.reasoning else None,
        chat_template_kwargs=body.chat_template_kwargs,
    )


def _to_messages(body: ResponsesRequest) -> list[ChatMessage]:
    messages = [ChatMessage(role="system", content=body.instructions)] if body.instructions else []
    if isinstance(body.input, str):
        messages.append(ChatMessage(role="user", content=body.input))
    else:
        for index, item in enumerate(body.input):
            _append(item, f"input[{index}]", messages)
    return _with_one_beginning(messages)


def _append(item: InputItem, param: str, messages: list[ChatMessage]) -> None:
    """Thoughts, the text behind them and the calls behind that are one turn of a chat."""
    match item:
        case InputMessage(role="assistant", content=content):
            turn = messages[-1] if messages and _is_only_thought(messages[-1]) else None
            turn = turn or _open_turn(messages)
            turn.content = _to_text(content, f"{param}.content")
        case InputMessage(role=role, content=content):
            text = _to_text(content, f"{param}.content")
            messages.append(ChatMessage(role=role, content=text))
        case InputReasoning(content=content):
            thoughts = _to_text(content or [], f"{param}.content")
            _open_turn(messages).reasoning_content = thoughts or None
        case InputCall(call_id=call_id, name=name, arguments=arguments):
            is_same = bool(messages) and messages[-1].role == "assistant"
            turn = messages[-1] if is_same else _open_turn(messages)
            function = CalledFunction(name=name, arguments=arguments)
            turn.tool_calls = [
                *(turn.tool_calls or ()),
                AssistantCall(id=call_id, function=function),
            ]
        case InputCallResult(call_id=call_id, output=output):
            text = _to_text(output, f"{param}.output")
            messages.append(ChatMessage(role="tool", content=text, tool_call_id=call_id))
        case _:
            raise ApiError(
                400,
                f"An input item of type `{item.type}` is nothing to this server.",
                param=f"{param}.type",
                code="unsupported_content",
            )


def _open_turn(messages: list[ChatMessage]) -> ChatMessage:
    messages.append(ChatMessage(role="assistant"))
    return messages[-1]


def _is_only_thought(message: ChatMessage) -> bool:
    return message.role == "assistant" and message.content is None and not message.tool_calls


def _to_text(content: str | Sequence[InputPart], param: str) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(_part_text(part, f"{param}[{i}]") for i, part in enumerate(content))


def _part_text(part: InputPart, param: str) -> str:
    text = part.refusal if part.type == "refusal" else part.text
    if part.type not in (*_TEXTS, "refusal"):
        raise ApiError(
            400,
            f"This model reads text; a content part of type `{part.type}` is nothing to it.",
            param=f"{param}.type",
            code="unsupported_content",
        )
    if text is None:
        raise ApiError(400, f"A content part of type `{part.type}` has no text.", param=param)
    return text


def _with_one_beginning(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """`instructions` and the system's turns behind them in one: many templates take just one."""
    roles = [message.role in ("system", "developer") for message in messages]
    num_first = roles.index(False) if False in roles else len(roles)
    if num_first < 2:
        return list(messages)
    text = "\n\n".join(str(message.content) for message in messages[:num_first])
    return [ChatMessage(role=messages[0].role, content=text), *messages[num_first:]]


def _to_format(body: ResponsesRequest) -> ResponseFormat | None:
    wanted = body.text.format if body.text else None
    if wanted is None or wanted.type == "text":
        return None
    if wanted.type == "json_object":
        return JsonObjectFormat(type="json_object")
    return JsonSchemaFormat(type="json_schema", json_schema=wanted)


def _to_tools(body: ResponsesRequest) -> list[Tool] | None:
    return None if body.tools is None else list(_iter_tools(body))


def _iter_tools(body: ResponsesRequest) -> Iterable[Tool]:
    for index, tool in enumerate(body.tools or ()):
        if not isinstance(tool, ResponsesTool):
            raise ApiError(
                400,
                f"A tool of type `{tool.type}` would have to be run by this server, which runs "
                "none; functions are the client's to run.",
                param=f"tools[{index}].type",
                code="unsupported_tool",
            )
        fields = tool.model_dump(exclude={"type"}, exclude_none=True)
        yield Tool(type="function", function=FunctionTool(**fields))


def _to_choice(body: ResponsesRequest) -> ToolChoice | None:
    if isinstance(body.tool_choice, ChosenFunction):
        function = NamedFunction(name=body.tool_choice.name)
        return NamedTool(type="function", function=function)
    return body.tool_choice
