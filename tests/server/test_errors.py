"""What is wrong is answered in OpenAI's shape, with the status and the field at fault."""

from __future__ import annotations

from typing import Any

import httpx2
import openai
import pytest
from openai import OpenAI

from app.core.errors import EngineError
from app.core.events import Event
from app.core.server_events import ServerRequestFinished
from app.engine.host import EngineHost
from app.server.options import ServerOptions
from app.server.runner import ServerRunner
from tests.server.conftest import MAX_MODEL_LEN, StartServer, create_client, create_http
from tests.server.waiting import wait_until

CHAT = "/v1/chat/completions"
TURN = {"role": "user", "content": "hi"}
TOOL = {"type": "function", "function": {"name": "f"}}


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"messages": None}, "messages"),
        ({"messages": [{"role": "robot", "content": "hi"}]}, "messages[0].role"),
        ({"messages": [{"content": "hi"}]}, "messages[0].role"),
        ({"messages": [TURN, {"role": "user", "content": 5}]}, "messages[1].content"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
            "messages[0].content[0].type",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
            "messages[0].content[0].text",
        ),
        ({"temperature": 2.5}, "temperature"),
        ({"temperature": "1"}, "temperature"),
        ({"top_p": -0.1}, "top_p"),
        ({"n": 0}, "n"),
        ({"n": 9}, "n"),
        ({"n": True}, "n"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": 1.5}, "max_tokens"),
        ({"stream": "yes"}, "stream"),
        ({"stop": ["a"] * 17}, "stop"),
        ({"stop": [1]}, "stop[0]"),
        ({"seed": 2**64}, "seed"),
        ({"top_logprobs": 5}, "top_logprobs"),
        ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
        ({"logit_bias": {"a": 1}}, "logit_bias.a"),
        ({"presence_penalty": 3}, "presence_penalty"),
        ({"repetition_penalty": 5e-324}, "repetition_penalty"),  # would make logits infinite
        ({"response_format": {"type": "xml"}}, "response_format"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
        ({"tools": [{"type": "function"}]}, "tools[0].function"),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools[0].function.name"),
        ({"tool_choice": "required"}, "tools"),
        (
            {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "g"}}},
            "tool_choice",
        ),
    ],
)
def test_a_wrong_field_is_named(http: httpx2.Client, fields: dict[str, Any], param: str) -> None:
    reply = http.post(CHAT, json={"model": "m", "messages": [TURN], "max_tokens": 1, **fields})
    error = _read_error(reply, 400)
    assert error["param"] == param
    assert error["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"messages": [{"role": "user", "content": "hi"}], "temperature": NaN}',
        b'{"messages": [{"role": "user", "content": "hi"}], "n": ' + b"9" * 5000 + b"}",
    ],
    ids=lambda body: repr(body[:12]),
)
def test_a_body_that_is_no_request_is_refused(http: httpx2.Client, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    assert _read_error(http.post(CHAT, content=body, headers=headers), 400)["message"]


def test_a_body_that_is_not_declared_as_json_is_refused(http: httpx2.Client) -> None:
    """A web page can send text without asking first; JSON it cannot."""
    body = b'{"messages": [{"role": "user", "content": "hi"}], "max_tokens": 1}'
    reply = http.post(CHAT, content=body, headers={"content-type": "text/plain"})
    assert "application/json" in _read_error(reply, 400)["message"]


def test_half_a_character_does_no_harm(http: httpx2.Client) -> None:
    """JavaScript sends one where it cuts an emoji; it comes back as `?`."""
    body = b'{"prompt": "\\ud83d", "echo": true, "max_tokens": 1}'
    headers = {"content-type": "application/json"}
    reply = http.post("/v1/completions", content=body, headers=headers)
    assert reply.json()["choices"][0]["text"].startswith("?")


def test_null_is_the_same_as_nothing(http: httpx2.Client) -> None:
    names = ("temperature", "top_p", "n", "stop", "seed", "tools", "tool_choice", "stream")
    body = {"messages": [TURN], "max_tokens": 1, **dict.fromkeys(names)}
    assert http.post(CHAT, json=body).status_code == 200


@pytest.mark.parametrize("streams", [True, False])
def test_a_prompt_that_is_too_long_is_named_so(client: OpenAI, streams: bool) -> None:
    messages: Any = [{"role": "user", "content": "word " * MAX_MODEL_LEN}]
    with pytest.raises(openai.BadRequestError, match=f"{MAX_MODEL_LEN:,}") as caught:
        client.chat.completions.create(messages=messages, model="m", stream=streams)
    assert caught.value.code == "context_length_exceeded"
    assert caught.value.param == "messages"


@pytest.mark.parametrize("streams", [True, False])
def test_a_text_that_is_too_long_is_the_prompt(client: OpenAI, streams: bool) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.completions.create(prompt="word " * MAX_MODEL_LEN, model="m", stream=streams)
    assert caught.value.code == "context_length_exceeded"
    assert caught.value.param == "prompt"


def test_a_reply_ends_where_the_context_does(client: OpenAI) -> None:
    messages: Any = [{"role": "user", "content": "word " * (MAX_MODEL_LEN - 60)}]
    reply = client.chat.completions.create(
        messages=messages, model="m", extra_body={"ignore_eos": True}
    )
    assert reply.choices[0].finish_reason == "length"
    assert reply.usage
    assert reply.usage.total_tokens <= MAX_MODEL_LEN


def test_what_the_sampler_refuses_is_a_wrong_request(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="no embedding"):
        client.completions.create(model="m", prompt=[10_000_000])


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/", 405),
        ("GET", "/docs", 404),
        ("GET", "/v1/files/../../etc/passwd", 404),
        ("GET", CHAT, 405),
        ("DELETE", "/v1/models", 405),
    ],
)
def test_other_paths_have_nothing(http: httpx2.Client, method: str, path: str, status: int) -> None:
    assert _read_error(http.request(method, path), status)["message"]


def test_without_a_model_the_port_says_so() -> None:
    with EngineHost() as empty:
        runner = ServerRunner(empty, ServerOptions(port=0))
        runner.start()
        try:
            with create_client(runner) as client, create_http(runner) as http:
                assert client.models.list().data == []
                assert http.get("/health").status_code == 503
                with pytest.raises(
                    openai.InternalServerError, match="No model is loaded"
                ) as caught:
                    client.chat.completions.create(messages=[TURN], model="m")  # type: ignore
                assert (caught.value.status_code, caught.value.code) == (503, "engine_not_ready")
        finally:
            runner.stop()


def test_a_client_may_give_up(client: OpenAI, host: EngineHost) -> None:
    with pytest.raises(openai.APITimeoutError):
        client.with_options(timeout=0.3).chat.completions.create(
            messages=[{"role": "user", "content": "Tell a long story."}],
            model="m",
            max_tokens=900,
            extra_body={"ignore_eos": True},
        )
    wait_until(lambda: host.metrics().num_running == 0)


def _read_error(reply: httpx2.Response, status: int) -> dict[str, Any]:
    """The object of an error, which has all of OpenAI's fields."""
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/json"
    error: dict[str, Any] = reply.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["message"].endswith(".")
    return error


def test_what_the_engine_refuses_at_once_is_counted_as_it_was_told(
    start_server: StartServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was closed behind the port's back: that is no client that has gone."""

    def refuse(*_arguments: Any, **_options: Any) -> Any:
        raise EngineError("The engine was closed.")

    events: list[Event] = []
    runner = start_server(events.append)
    monkeypatch.setattr(EngineHost, "submit", refuse)
    with create_http(runner) as http:
        body = {"model": "m", "messages": [TURN]}
        for streams in (False, True):
            reply = http.post(CHAT, json={**body, "stream": streams})
            assert "closed" in _read_error(reply, 503)["message"]
    ends = [event.status for event in events if isinstance(event, ServerRequestFinished)]
    assert ends == [503, 503]
