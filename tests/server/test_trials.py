"""Application trials of the port, by their numbers: 9, 15, 16 and 18."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import openai
import pytest
from openai import OpenAI

from app.engine.host import EngineHost
from app.server.runner import ServerRunner
from tests.server.raw_client import RawClient, long_story
from tests.server.waiting import wait_until

# Characters of two to four bytes, and emojis that are made of several.
POEM = "春眠不觉晓,处处闻啼鸟。🌸🐦👩‍👩‍👧‍👦"
TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "look_up",
            "parameters": {
                "type": "object",
                "properties": {"key": {"enum": ["a", "b"]}},
                "required": ["key"],
                "additionalProperties": False,
            },
        },
    }
]


def test_09_no_character_is_cut_in_any_delta(client: OpenAI) -> None:
    """The starter model writes no Chinese by itself: a schema makes it write this poem."""
    options: dict[str, Any] = {
        "model": "m",
        "messages": [{"role": "user", "content": "用中文写一首诗,加三个表情符号"}],
        "response_format": {
            "type": "json_schema",
            "json_schema": {
                "name": "poem",
                "schema": {
                    "type": "object",
                    "properties": {"poem": {"const": POEM}},
                    "required": ["poem"],
                    "additionalProperties": False,
                },
            },
        },
        "temperature": 0,
        "max_tokens": 300,
    }
    whole = client.chat.completions.create(**options).choices[0].message.content or ""
    deltas = [
        chunk.choices[0].delta.content or ""
        for chunk in client.chat.completions.create(stream=True, **options)
    ]
    assert json.loads(whole) == {"poem": POEM}
    assert "".join(deltas) == whole
    assert not [delta for delta in deltas if "\ufffd" in delta]
    assert len(deltas) > len(POEM) / 4  # it was streamed


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"response_format": {"type": "json_object"}},
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "n", "schema": {"type": "integer"}},
            }
        },
        {"response_format": {"type": "text"}},
        {"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "look_up"}}},
        {"tools": TOOLS, "tool_choice": "required"},
        {"tools": TOOLS, "tool_choice": "auto"},
        {"seed": 5},
        {"stop": ["\n", "."]},
        {"logprobs": True},
    ],
    ids=lambda fields: "-".join(fields) or "plain",
)
def test_15_what_clients_send_streams_to_its_end(client: OpenAI, fields: dict[str, Any]) -> None:
    """Or is refused in OpenAI's shape; nothing else, and a stream ends with usage and [DONE]."""
    with client.chat.completions.with_streaming_response.create(
        model="m",
        messages=[{"role": "user", "content": "Say a number."}],
        stream=True,
        stream_options={"include_usage": True},
        max_tokens=40,
        **fields,
    ) as reply:
        lines = [line.removeprefix("data: ") for line in reply.iter_lines() if line]
    assert lines[-1] == "[DONE]"
    chunks = [json.loads(line) for line in lines[:-1]]
    assert all(chunk["choices"] and chunk["usage"] is None for chunk in chunks[:-1])
    assert chunks[-1]["choices"] == []
    assert 1 <= chunks[-1]["usage"]["completion_tokens"] <= 40
    (reason,) = {c["choices"][0]["finish_reason"] for c in chunks[:-1]} - {None}
    assert reason in ("stop", "length", "tool_calls")


def test_15_what_is_refused_is_an_error_of_openai_s(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(
            model="m",
            messages=[{"role": "user", "content": "Say a number."}],
            tools=TOOLS,
            tool_choice={"type": "function", "function": {"name": "other"}},
        )
    assert caught.value.body
    assert caught.value.param == "tool_choice"


def test_16_twenty_clients_dropped_mid_stream(
    server: ServerRunner, client: OpenAI, host: EngineHost
) -> None:
    dropped = [RawClient(server) for _ in range(20)]
    for other in dropped:
        other.post("/v1/chat/completions", long_story())
    for other in dropped[:8]:
        other.read_until(b'"content":"')
    for other in dropped:
        other.close()
    wait_until(lambda: host.metrics().num_running == host.metrics().num_waiting == 0)
    reply = client.completions.create(model="m", prompt="One, two,", temperature=0, max_tokens=4)
    assert "three" in reply.choices[0].text


@pytest.mark.parametrize(
    "headers",
    [{"host": "example.com"}, {"origin": "https://evil.example"}],
    ids=lambda h: next(iter(h)),
)
@pytest.mark.parametrize("path", ["/v1/models", "/health", "/metrics", "/v1/chat/completions"])
def test_18_foreign_names_are_forbidden(
    http: httpx2.Client, headers: dict[str, str], path: str
) -> None:
    reply = http.get(path, headers=headers)
    assert reply.status_code == 403
    assert "access-control-allow-origin" not in reply.headers
