"""/v1/responses through OpenAI's client, and its objects held to the client's own types."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import jsonschema
import openai
import pytest
from openai import OpenAI
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from app.core.events import Event
from app.core.server_events import ServerRequestProgressed
from tests.server.conftest import MAX_MODEL_LEN, StartServer, create_http
from tests.server.test_tools import SCHEMAS, WEATHER

PATH = "/v1/responses"
OPTIONS: dict[str, Any] = {"model": "m", "temperature": 0, "max_output_tokens": 16}
QUESTION = "Name three colours."
TOOLS: Any = [{"type": "function", "name": "get_weather", "parameters": WEATHER, "strict": True}]
NAMED: Any = {"type": "function", "name": "get_weather"}
EVENTS: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


def _stream(http: httpx2.Client, **fields: Any) -> list[dict[str, Any]]:
    """The events as they are sent, each with its name outside and its number."""
    text = http.post(PATH, json={**OPTIONS, "input": QUESTION, "stream": True, **fields}).text
    events = []
    for frame in text.strip().split("\n\n"):
        name, data = (line.partition(": ")[2] for line in frame.split("\n"))
        events.append(json.loads(data))
        assert events[-1]["type"] == name
        EVENTS.validate_json(data)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    return events


def test_it_says_what_a_chat_completion_says(client: OpenAI) -> None:
    asked = client.responses.create(input=QUESTION, instructions="Be brief.", **OPTIONS)
    messages: Any = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": QUESTION},
    ]
    chat = client.chat.completions.create(
        model="m", messages=messages, temperature=0, max_tokens=16
    )
    assert asked.output_text == chat.choices[0].message.content
    assert asked.usage
    assert chat.usage
    assert asked.usage.input_tokens == chat.usage.prompt_tokens
    assert asked.usage.output_tokens == chat.usage.completion_tokens
    assert asked.model == chat.model
    assert asked.instructions == "Be brief."


def test_the_reply_is_of_the_client_s_type(http: httpx2.Client) -> None:
    body = {**OPTIONS, "input": QUESTION, "tools": TOOLS, "metadata": {"a": "b"}}
    reply = Response.model_validate_json(http.post(PATH, json=body).content, strict=True)
    assert (reply.status, reply.incomplete_details) == ("incomplete", reply.incomplete_details)
    assert reply.incomplete_details
    assert reply.incomplete_details.reason == "max_output_tokens"
    assert reply.metadata == {"a": "b"}
    assert (reply.tools[0].type, reply.tool_choice) == ("function", "auto")


def test_a_stream_adds_up_to_the_whole_reply(client: OpenAI, http: httpx2.Client) -> None:
    whole = client.responses.create(input=QUESTION, **OPTIONS).output_text
    with client.responses.stream(input=QUESTION, **OPTIONS) as stream:
        texts = [event.delta for event in stream if event.type == "response.output_text.delta"]
    assert "".join(texts) == whole
    assert len(texts) > 4
    events = _stream(http)
    kinds = [event["type"] for event in events]
    assert kinds[:4] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
    ]
    assert kinds[-4:] == [
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.incomplete",
    ]
    last = events[-1]["response"]
    assert last["output"] == [events[-2]["item"]]
    assert last["output"][0]["content"][0]["text"] == whole == events[-4]["text"]
    assert last["id"] == events[0]["response"]["id"]
    assert (events[0]["response"]["output"], events[0]["response"]["usage"]) == ([], None)


def test_a_stream_that_ends_by_itself_is_completed(client: OpenAI) -> None:
    held: Any = {"format": {"type": "json_schema", "name": "n", "schema": {"enum": ["yes"]}}}
    with client.responses.stream(input="Say: yes.", text=held, **OPTIONS) as stream:
        final = stream.get_final_response()
    assert (final.status, final.incomplete_details) == ("completed", None)
    assert final.output_text == '"yes"'


def test_a_conversation_goes_back_as_it_came(client: OpenAI) -> None:
    """As OpenAI's guides do it: the items of a reply are part of the next input."""
    first = client.responses.create(input=QUESTION, **OPTIONS)
    turns: list[Any] = [
        {"role": "user", "content": [{"type": "input_text", "text": QUESTION}]},
        *(item.to_dict() for item in first.output),
        {"role": "user", "content": "And one more?"},
    ]
    second = client.responses.create(input=turns, **OPTIONS)
    messages: Any = [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": first.output_text},
        {"role": "user", "content": "And one more?"},
    ]
    chat = client.chat.completions.create(
        model="m", messages=messages, temperature=0, max_tokens=16
    )
    assert second.output_text == chat.choices[0].message.content


def test_instructions_and_the_system_s_turns_are_one(client: OpenAI) -> None:
    turns: Any = [
        {"role": "developer", "content": "In English."},
        {"role": "user", "content": QUESTION},
    ]
    asked = client.responses.create(input=turns, instructions="Be brief.", **OPTIONS)
    joined = client.responses.create(
        input=QUESTION, instructions="Be brief.\n\nIn English.", **OPTIONS
    )
    assert asked.output_text == joined.output_text
    assert asked.usage
    assert joined.usage
    assert asked.usage.input_tokens == joined.usage.input_tokens


@pytest.mark.parametrize("choice", ["required", NAMED])
def test_a_forced_call_and_its_result(client: OpenAI, choice: Any) -> None:
    options = {**OPTIONS, "max_output_tokens": 200, "tools": TOOLS}
    first = client.responses.create(input=QUESTION, tool_choice=choice, **options)
    call = first.output[0]
    assert call.type == "function_call"
    assert (first.status, call.status) == ("completed", "completed")
    jsonschema.validate(json.loads(call.arguments), SCHEMAS[call.name])
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "Rain."}
    turns: Any = [{"role": "user", "content": QUESTION}, call.to_dict(), result]
    second = client.responses.create(input=turns, **{**options, "max_output_tokens": 8})
    assert first.usage
    assert second.usage
    assert second.usage.input_tokens > first.usage.input_tokens


def test_a_streamed_call_adds_up(http: httpx2.Client) -> None:
    events = _stream(
        http, tools=TOOLS, tool_choice=NAMED, parallel_tool_calls=False, max_output_tokens=200
    )
    deltas = [event["delta"] for event in events if event["type"].endswith("arguments.delta")]
    done = next(event for event in events if event["type"].endswith("arguments.done"))
    assert "".join(deltas) == done["arguments"]
    assert events[-1]["type"] == "response.completed"
    (call,) = events[-1]["response"]["output"]
    assert (call["arguments"], call["id"]) == (done["arguments"], done["item_id"])
    assert call["call_id"] != call["id"]


def test_a_text_is_held_to_its_schema(client: OpenAI) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"enum": [1, 2]}},
        "required": ["a"],
        "additionalProperties": False,
    }
    held: Any = {"format": {"type": "json_schema", "name": "answer", "schema": schema}}
    options = {**OPTIONS, "max_output_tokens": 60}
    reply = client.responses.create(input=QUESTION, text=held, **options)
    assert json.loads(reply.output_text) in ({"a": 1}, {"a": 2})


def test_probabilities_of_the_text(http: httpx2.Client) -> None:
    wish = {"include": ["message.output_text.logprobs"], "top_logprobs": 2}
    events = _stream(http, **wish)
    deltas = [event for event in events if event["type"] == "response.output_text.delta"]
    done = next(event for event in events if event["type"] == "response.output_text.done")
    assert [entry for delta in deltas for entry in delta["logprobs"]] == done["logprobs"]
    assert "".join(entry["token"] for entry in done["logprobs"]) == done["text"]
    assert {len(entry["top_logprobs"]) for entry in done["logprobs"]} == {2}
    plain = http.post(PATH, json={**OPTIONS, "input": QUESTION}).json()
    assert plain["output"][0]["content"][0]["logprobs"] == []


@pytest.mark.parametrize("streams", [True, False])
def test_a_prompt_that_is_too_long_is_the_input(client: OpenAI, streams: bool) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(input="word " * MAX_MODEL_LEN, stream=streams, **OPTIONS)
    assert (caught.value.code, caught.value.param) == ("context_length_exceeded", "input")


IMAGE = {"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"background": True}, "background"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
        ({"tools": [{"type": "function", "name": "?"}]}, "tools[0].name"),
        ({"input": [IMAGE]}, "input[0].content[0].type"),
        ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "input[0].type"),
        ({"input": [{"content": "x"}]}, "input[0].role"),
        ({"input": [{"type": "function_call", "call_id": "c"}]}, "input[0].name"),
        ({"input": []}, "input"),
        ({"input": None}, "input"),
        ({"temperature": 3}, "temperature"),
        ({"tool_choice": "required"}, "tools"),
        ({"text": {"format": {"type": "json_schema", "schema": 1}}}, "text.format.schema"),
    ],
)
def test_what_is_refused_is_named(http: httpx2.Client, fields: dict[str, Any], param: str) -> None:
    reply = http.post(PATH, json={**OPTIONS, "input": QUESTION, **fields})
    error = reply.json()["error"]
    assert (reply.status_code, error["param"]) == (400, param), error


def test_a_stream_that_fails_says_so_in_its_last_event(start_server: StartServer) -> None:
    def cancel(event: Event) -> None:
        if isinstance(event, ServerRequestProgressed) and event.completion_tokens:
            server.cancel(event.request_id)

    server = start_server(cancel)
    body = {"max_output_tokens": 900, "input": "Tell a long story."}
    with create_http(server) as http:
        last = _stream(http, **body)[-1]
    assert last["type"] == "response.failed"
    assert last["response"]["status"] == "failed"
    assert last["response"]["error"]["code"] == "server_error"
    assert "cancelled" in last["response"]["error"]["message"]
    assert last["response"]["output"][0]["status"] == "incomplete"
