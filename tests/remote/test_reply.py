"""Replies of another server become the engine's events, and its failures one sentence each."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
import time
from dataclasses import replace

import pytest

from app.core.errors import RemoteError
from app.core.events import Event, FinishReason, RequestFailed, RequestFinished, TokensGenerated
from app.engine.request import Message, Request, SamplingParams
from app.remote.chunks import parse_chunk
from app.remote.client import list_models
from app.remote.endpoint import RemoteEndpoint, RemoteModel
from app.remote.reply import RemoteReply
from tests.remote.fake_openai import KEY, FakeOpenAI


def ask(server: FakeOpenAI, text: str, key: str = "", **sampling: object) -> list[Event]:
    """All events of one reply."""
    endpoint = RemoteEndpoint(server.base_url, "big-70b", key)
    messages = (Message("system", "Be brief."), Message("user", text))
    request = Request(messages=messages, sampling=SamplingParams(**sampling))  # type: ignore[arg-type]
    events: list[Event] = []
    RemoteReply(endpoint, request, events.append).run()
    return events


def text_of(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TokensGenerated))


def failure_of(events: list[Event]) -> str:
    (failed,) = [event for event in events if isinstance(event, RequestFailed)]
    assert events[-1] is failed
    assert failed.error.kind == "RemoteError"
    assert "\n" not in failed.error.message
    return failed.error.message


def test_a_reply_streams_and_ends_with_the_servers_counts(server: FakeOpenAI) -> None:
    events = ask(server, "say 你好 wörld 🙂")
    assert text_of(events) == "你好 wörld 🙂 "
    assert sum(isinstance(event, TokensGenerated) for event in events) == 3
    last = events[-1]
    assert isinstance(last, RequestFinished)
    assert last.finish_reason is FinishReason.STOP
    usage = last.usage
    assert (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens) == (12, 5, 34)
    assert usage.ttft_s > 0
    assert usage.decode_tok_s > 0


def test_what_is_sent(server: FakeOpenAI) -> None:
    ask(server, "say hi", temperature=0.5, top_k=40, seed=7, max_tokens=9, stop=("\n\n",))
    ask(server, "say hi", top_p=0.9)
    full, plain = server.bodies
    assert full == {
        "model": "big-70b",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "say hi"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
        "top_p": 1.0,
        "top_k": 40,
        "max_tokens": 9,
        "seed": 7,
        "stop": ["\n\n"],
    }
    # Words that OpenAI's own servers do not know are only sent when they say something.
    assert set(plain) == {"model", "messages", "stream", "stream_options", "temperature", "top_p"}


def test_the_length_limit_is_told(server: FakeOpenAI) -> None:
    last = ask(server, "long text")[-1]
    assert isinstance(last, RequestFinished)
    assert last.finish_reason is FinishReason.LENGTH


@pytest.mark.parametrize("word", ["reasoning_content", "reasoning"])
def test_reasoning_is_a_think_block(server: FakeOpenAI, word: str) -> None:
    server.reasoning_word = word
    assert text_of(ask(server, "think Yes.")) == "<think>\nLet me see.\n</think>\n\nYes. "
    assert text_of(ask(server, "think")) == "<think>\nLet me see.\n</think>\n\n"


def test_a_key_is_sent_and_never_logged(
    server: FakeOpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.wants_key = True
    assert text_of(ask(server, "say hi", KEY)) == "hi "
    sentence = failure_of(ask(server, "say hi", "sk-wrong"))
    assert sentence == f"{server.base_url} answered 401: Incorrect API key provided."
    assert KEY not in caplog.text
    assert "sk-wrong" not in caplog.text


def test_a_stop_ends_the_reply_here_and_at_the_server(server: FakeOpenAI) -> None:
    endpoint = RemoteEndpoint(server.base_url, "big-70b")
    events: list[Event] = []
    reply = RemoteReply(endpoint, Request(messages=(Message("user", "forever"),)), events.append)
    thread = threading.Thread(target=reply.run)
    thread.start()
    wait_for(lambda: len(events) > 5)
    reply.cancel()
    thread.join(timeout=20)
    assert not thread.is_alive()
    last = events[-1]
    assert isinstance(last, RequestFinished)
    assert last.finish_reason is FinishReason.CANCELLED
    assert last.usage.completion_tokens == len(events) - 1
    wait_for(lambda: server.num_gone == 1)
    reply.cancel()  # has no effect any more


def test_a_stop_before_the_first_word(server: FakeOpenAI) -> None:
    events: list[Event] = []
    request = Request(messages=(Message("user", "silence"),))
    reply = RemoteReply(RemoteEndpoint(server.base_url, "m"), request, events.append)
    reply.cancel()
    reply.run()
    (last,) = events
    assert isinstance(last, RequestFinished)
    assert last.finish_reason is FinishReason.CANCELLED


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("break one two", "The server broke off: The GPU fell off the bus."),
        ("cut one two", "The server ended the reply in the middle."),
        ("html", "{url} answered with what is no stream of a chat completion."),
        ("429", "{url} answered 429: it has too many requests; try again later."),
        ("503", "{url} answered 503: it has no model loaded, or is too busy."),
        ("404", "{url} answered 404: it has nothing there; does the address end in /v1?"),
        ("400 The prompt\nis too long", "{url} answered 400: The prompt is too long."),
    ],
)
def test_failures_are_one_sentence(server: FakeOpenAI, text: str, sentence: str) -> None:
    expected = sentence.format(url=server.base_url)
    assert failure_of(ask(server, text)).rstrip(".") == expected.rstrip(".")


def test_text_before_a_failure_is_kept(server: FakeOpenAI) -> None:
    assert text_of(ask(server, "cut one two")) == "one two "


def test_a_server_that_is_not_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    nobody = FakeOpenAI(base_url=f"http://127.0.0.1:{port}/v1")
    assert "Nothing answers at" in failure_of(ask(nobody, "say hi"))


def test_models_are_listed(server: FakeOpenAI) -> None:
    server.models.append({"id": "llama", "meta": {"n_ctx_train": 4096}})
    assert asyncio.run(list_models(RemoteEndpoint(server.base_url))) == (
        RemoteModel("big-70b", 32768),
        RemoteModel("small"),
        RemoteModel("llama", 4096),
    )


def test_what_is_no_openai_server_is_said(server: FakeOpenAI) -> None:
    endpoint = RemoteEndpoint(server.base_url)
    for path, word in (("/old", "sends elsewhere"), ("/page", "lists no models"), ("/x", "404")):
        url = server.base_url.replace("/v1", path)
        with pytest.raises(RemoteError, match=word):
            asyncio.run(list_models(replace(endpoint, base_url=url)))


def wait_for(condition: object, timeout_s: float = 20.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_fault_of_ours_ends_the_reply_as_well(
    server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chat waits for the last event: whatever a server's words break, it comes."""

    def break_off(_text: str) -> None:
        raise RecursionError("nested too deep")

    monkeypatch.setattr("app.remote.client.parse_chunk", break_off)
    (failed,) = ask(server, "say hi")
    assert isinstance(failed, RequestFailed)
    assert "nested too deep" in failed.error.message


@pytest.mark.parametrize(
    "data",
    [
        *("", "{", "[" * 100_000, "[]", "null", "\ud83d"),
        '{"choices": {"0": 1}}',
        '{"choices": [{"delta": "x"}]}',
        '{"choices": [{"delta": {"content": 5}}]}',
        '{"choices": [{"delta": {"content": [5]}}]}',
        '{"choices": [], "usage": 5}',
    ],
)
def test_what_is_no_chunk_is_one_sentence(data: str) -> None:
    with pytest.raises(RemoteError) as caught:
        parse_chunk(data)
    assert "\n" not in caught.value.message


def test_the_text_of_parts_is_the_text() -> None:
    parts = [
        {"type": "text", "text": "a"},
        {"type": "thinking", "x": 1},
        {"type": "text", "text": "b"},
    ]
    chunk = parse_chunk(json.dumps({"choices": [{"delta": {"content": parts}}]}))
    assert chunk.text == "ab"
