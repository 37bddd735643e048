"""Tools told in words, for models whose chat template has no place for them.

Calls are asked for in the form of Hermes and Qwen, the most common one; `output_parser.hermes`
reads them. How well a model follows is its own affair: a forced call is held to the form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.engine.output_parser.hermes import CLOSING, OPENING
from app.engine.request import Message, ToolCall
from app.engine.tools import tool_function

_SYSTEM_ROLES = ("system", "developer")
_HEAD = "You can call functions. These are declared, each as JSON, with a schema of its arguments:"
_FORM = (
    "To call one, write nothing but its name and arguments as JSON between these markers:\n"
    f'{OPENING}\n{{"name": "...", "arguments": {{...}}}}\n{CLOSING}\n'
    "The results come back between <tool_response> and </tool_response>."
)


def tell_tools(
    messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]
) -> tuple[Message, ...]:
    """The conversation with the tools in its system prompt, calls and results as text."""
    declared = "\n".join(json.dumps(tool_function(tool), ensure_ascii=False) for tool in tools)
    text = f"{_HEAD}\n{declared}\n{_FORM}"
    turns = tuple(map(_write_out, messages))
    if turns and turns[0].role in _SYSTEM_ROLES:
        return (replace(turns[0], content=f"{turns[0].content}\n\n{text}"), *turns[1:])
    return (Message("system", text), *turns)


def _write_out(message: Message) -> Message:
    if message.role == "tool":
        return Message("user", f"<tool_response>\n{message.content}\n</tool_response>")
    if not message.tool_calls:
        return message
    pieces = [message.content] if message.content else []
    pieces += [_write_call(call) for call in message.tool_calls]
    return replace(message, content="\n".join(pieces), tool_calls=())


def _write_call(call: ToolCall) -> str:
    head = json.dumps({"name": call.name}, ensure_ascii=False).removesuffix("}")
    return f'{OPENING}\n{head}, "arguments": {call.arguments or "{}"}}}\n{CLOSING}'
