"""Tool calls through OpenAI's client; the starter model's template knows no tools itself."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletionMessage

WEATHER: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"enum": ["Ulm", "Köln"]}, "days": {"enum": [1, 2]}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
CLOCK: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
TOOLS: Any = [
    {"type": "function", "function": {"name": "get_weather", "parameters": WEATHER}},
    {"type": "function", "function": {"name": "read_clock", "parameters": CLOCK}},
]
SCHEMAS = {"get_weather": WEATHER, "read_clock": CLOCK}
MESSAGES: Any = [{"role": "user", "content": "How will the weather in Ulm be for two days?"}]
OPTIONS: dict[str, Any] = {"model": "m", "temperature": 1, "seed": 1, "max_tokens": 300}
NAMED = {"type": "function", "function": {"name": "get_weather"}}


def _check_calls(message: ChatCompletionMessage) -> list[str]:
    """Each call has an id of its own and arguments that its schema allows."""
    assert message.tool_calls
    assert len({call.id for call in message.tool_calls}) == len(message.tool_calls)
    names = []
    for call in message.tool_calls:
        assert call.type == "function"
        jsonschema.validate(json.loads(call.function.arguments), SCHEMAS[call.function.name])
        names.append(call.function.name)
    return names


@pytest.mark.parametrize("choice", ["required", NAMED])
def test_a_forced_call_comes_and_matches_its_schema(client: OpenAI, choice: Any) -> None:
    reply = client.chat.completions.create(
        messages=MESSAGES, tools=TOOLS, tool_choice=choice, **OPTIONS
    )
    names = _check_calls(reply.choices[0].message)
    assert reply.choices[0].finish_reason == "tool_calls"
    assert not reply.choices[0].message.content
    if choice is NAMED:
        assert names == ["get_weather"]


@pytest.mark.parametrize("choice", ["required", NAMED])
def test_a_streamed_call_adds_up_to_the_whole_one(client: OpenAI, choice: Any) -> None:
    options = {"messages": MESSAGES, "tools": TOOLS, "tool_choice": choice, **OPTIONS}
    whole = client.chat.completions.create(**options).choices[0].message
    calls: list[dict[str, str]] = []
    chunks = list(client.chat.completions.create(**options, stream=True))
    for delta in (chunk.choices[0].delta for chunk in chunks):
        for call in delta.tool_calls or ():
            if call.index == len(calls):
                assert call.id
                assert call.type == "function"
                calls.append({"name": call.function.name, "arguments": ""})
            calls[call.index]["arguments"] += call.function.arguments or ""
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    assert whole.tool_calls
    assert calls == [
        {"name": call.function.name, "arguments": call.function.arguments}
        for call in whole.tool_calls
    ]


def test_one_call_at_a_time(client: OpenAI) -> None:
    reply = client.chat.completions.create(
        messages=MESSAGES, tools=TOOLS, tool_choice="required", parallel_tool_calls=False, **OPTIONS
    )
    assert len(_check_calls(reply.choices[0].message)) == 1
    assert reply.choices[0].finish_reason == "tool_calls"


def test_a_reply_is_a_call_or_what_its_format_says(client: OpenAI) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"enum": [1, 2]}},
        "required": ["a"],
        "additionalProperties": False,
    }
    held: Any = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    reply = client.chat.completions.create(
        messages=MESSAGES,
        tools=TOOLS,
        parallel_tool_calls=False,
        response_format=held,
        n=2,
        **OPTIONS,
    )
    assert {choice.finish_reason for choice in reply.choices} <= {"stop", "tool_calls"}
    for choice in reply.choices:
        if choice.finish_reason == "tool_calls":
            _check_calls(choice.message)
        else:
            jsonschema.validate(json.loads(choice.message.content or ""), schema)


def test_none_gives_the_same_as_no_tools(client: OpenAI) -> None:
    with_tools = client.chat.completions.create(
        messages=MESSAGES, tools=TOOLS, tool_choice="none", **{**OPTIONS, "max_tokens": 20}
    )
    without = client.chat.completions.create(messages=MESSAGES, **{**OPTIONS, "max_tokens": 20})
    assert with_tools.choices[0].message == without.choices[0].message


def test_a_call_and_its_result_are_part_of_the_conversation(client: OpenAI) -> None:
    """As agents do it: the message of the first reply goes back as it came."""
    first = client.chat.completions.create(
        messages=MESSAGES, tools=TOOLS, tool_choice=NAMED, **OPTIONS
    )
    message = first.choices[0].message
    assert message.tool_calls
    second = client.chat.completions.create(
        messages=[
            *MESSAGES,
            message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "Rain."},
        ],
        tools=TOOLS,
        tool_choice="auto",
        **{**OPTIONS, "max_tokens": 20},
    )
    assert first.usage
    assert second.usage
    assert second.usage.prompt_tokens > first.usage.prompt_tokens
    assert second.choices[0].finish_reason in ("stop", "length", "tool_calls")
