"""The body of POST /v1/responses: OpenAI's newer way to ask for what a chat completion gives.

https://platform.openai.com/docs/api-reference/responses/create; fields that are not here are
ignored, as at the other endpoints.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from app.engine.request import MAX_LOGPROBS
from app.server.chat_schema import FunctionTool, SchemaFormat
from app.server.fields import Limit, Temperature, TopP, WireModel

# Union members are tagged with what is no name: `validation_error` leaves such out of a path.
_OTHER = "another type"


class InputPart(WireModel):
    """A piece of a message or of a tool's result."""

    type: str
    text: str | None = None
    refusal: str | None = None


class InputMessage(WireModel):
    """One turn; `type` may be left out."""

    type: Literal["message"] = "message"
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[InputPart]


class InputReasoning(WireModel):
    """What the model thought before the turn that follows, as an earlier reply gave it."""

    type: Literal["reasoning"]
    content: list[InputPart] | None = None


class InputCall(WireModel):
    """A call that an earlier reply asked for; `arguments` is a JSON object as text."""

    type: Literal["function_call"]
    call_id: str
    name: str
    arguments: str


class InputCallResult(WireModel):
    """What came of it."""

    type: Literal["function_call_output"]
    call_id: str
    output: str | list[InputPart]


class Other(WireModel):
    """An input item or a tool of a type that is refused by its name."""

    type: str


def _tag_item(item: object) -> str:
    kind = _type_of(item) or "message"
    known = ("message", "reasoning", "function_call", "function_call_output")
    return f"item {kind}" if kind in known else _OTHER


def _tag_tool(tool: object) -> str:
    return "tool function" if _type_of(tool) == "function" else _OTHER


def _type_of(value: object) -> object:
    return value.get("type") if isinstance(value, dict) else getattr(value, "type", None)


InputItem = Annotated[
    Annotated[InputMessage, Tag("item message")]
    | Annotated[InputReasoning, Tag("item reasoning")]
    | Annotated[InputCall, Tag("item function_call")]
    | Annotated[InputCallResult, Tag("item function_call_output")]
    | Annotated[Other, Tag(_OTHER)],
    Discriminator(_tag_item),
]


class ResponsesTool(FunctionTool):
    """A function that the model may call."""

    type: Literal["function"]


ToolItem = Annotated[
    Annotated[ResponsesTool, Tag("tool function")] | Annotated[Other, Tag(_OTHER)],
    Discriminator(_tag_tool),
]


class ChosenFunction(WireModel):
    """The form of `tool_choice` that names a function."""

    type: Literal["function"]
    name: str


class FormatOptions(SchemaFormat):
    """The words of a schema belong to `json_schema`."""

    type: Literal["text", "json_object", "json_schema"]


class TextOptions(WireModel):
    """What the reply's text is held to."""

    format: FormatOptions | None = None


class ReasoningOptions(WireModel):
    """How long the model shall think, in its template's words."""

    effort: str | None = None


class ResponsesRequest(WireModel):
    """`instructions` is a system prompt before `input`. Nothing is stored, whatever `store` says:
    what names an earlier response is refused. `chat_template_kwargs` as at chat completions."""

    model: str | None = None
    input: str | Annotated[list[InputItem], Field(min_length=1)]
    instructions: str | None = None
    stream: bool | None = None
    max_output_tokens: Limit | None = None
    temperature: Temperature | None = None
    top_p: TopP | None = None
    include: list[str] | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=MAX_LOGPROBS)] | None = None
    text: TextOptions | None = None
    reasoning: ReasoningOptions | None = None
    tools: Annotated[list[ToolItem], Field(max_length=128)] | None = None
    tool_choice: Literal["none", "auto", "required"] | ChosenFunction | None = None
    parallel_tool_calls: bool | None = None
    metadata: dict[str, str] | None = None
    previous_response_id: str | None = None
    conversation: str | dict[str, Any] | None = None
    prompt: dict[str, Any] | None = None
    background: bool | None = None
    chat_template_kwargs: dict[str, Any] | None = None
