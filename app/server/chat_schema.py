"""The body of POST /v1/chat/completions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from app.engine.request import MAX_LOGPROBS
from app.server.fields import GenerationFields, JsonMap, Limit, WireModel

FunctionName = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[a-zA-Z0-9_.-]+$")]


class ContentPart(WireModel):
    """A piece of a message; `text` is the only type that a language model reads."""

    type: str
    text: str | None = None


class CalledFunction(WireModel):
    """`arguments` is a JSON object as text."""

    name: str
    arguments: str = "{}"


class AssistantCall(WireModel):
    """A call that an assistant's message made."""

    id: str = ""
    type: Literal["function"] = "function"
    function: CalledFunction


class ChatMessage(WireModel):
    """One turn; content may be null where there are tool calls."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[ContentPart] | None = None
    name: str | None = None
    tool_calls: list[AssistantCall] | None = None
    tool_call_id: str | None = None
    reasoning_content: str | None = None


class FunctionTool(WireModel):
    """`parameters` is a JSON schema of an object; without it the function takes none."""

    name: FunctionName
    description: str | None = None
    parameters: JsonMap | None = None
    strict: bool | None = None


class Tool(WireModel):
    """A function that the model may call."""

    type: Literal["function"]
    function: FunctionTool


class NamedFunction(WireModel):
    """Which one."""

    name: str


class NamedTool(WireModel):
    """The form of `tool_choice` that names a function."""

    type: Literal["function"]
    function: NamedFunction


ToolChoice = Literal["none", "auto", "required"] | NamedTool


class SchemaFormat(WireModel):
    """`schema` is what the reply must match."""

    name: str | None = None
    description: str | None = None
    schema_: JsonMap | None = Field(default=None, alias="schema")
    strict: bool | None = None


class TextFormat(WireModel):
    """No constraint."""

    type: Literal["text"]


class JsonObjectFormat(WireModel):
    """Any JSON object."""

    type: Literal["json_object"]


class JsonSchemaFormat(WireModel):
    """JSON that matches a schema."""

    type: Literal["json_schema"]
    json_schema: SchemaFormat


ResponseFormat = Annotated[
    TextFormat | JsonObjectFormat | JsonSchemaFormat, Field(discriminator="type")
]


class ChatCompletionRequest(GenerationFields):
    """`max_completion_tokens` is the newer name of `max_tokens` and goes before it.

    `chat_template_kwargs` are variables of the model's own template, such as `enable_thinking`.
    With `continue_final_message` (vLLM's) the last message is a reply that goes on where it ends.
    """

    messages: Annotated[list[ChatMessage], Field(min_length=1)]
    max_completion_tokens: Limit | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=MAX_LOGPROBS)] | None = None
    response_format: ResponseFormat | None = None
    tools: Annotated[list[Tool], Field(max_length=128)] | None = None
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    reasoning_effort: str | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    continue_final_message: bool | None = None
