"""Limits of number, size and time; each ends in an answer, or with the connection."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import openai
import pytest

from app.engine.host import EngineHost
from app.server.app import create_app
from app.server.options import ServerOptions
from app.server.protocol import ABORT
from app.server.register import Register
from app.server.service import Service
from tests.server.conftest import StartServer, create_client, create_http
from tests.server.raw_client import RawClient, long_story
from tests.server.waiting import wait_until

CHAT = "/v1/chat/completions"


def test_behind_the_last_place_429_is_answered(start_server: StartServer, host: EngineHost) -> None:
    server = start_server(max_requests=2)
    with create_client(server) as client, RawClient(server) as one, RawClient(server) as two:
        for other in (one, two):
            other.post(CHAT, long_story())
            other.read_until(b'"content":"')
        with pytest.raises(openai.RateLimitError) as caught:
            client.completions.create(model="m", prompt="a", max_tokens=1)
        assert caught.value.code == "rate_limit_exceeded"
        assert caught.value.response.headers["retry-after"] == "1"
        one.close()
        wait_until(lambda: host.metrics().num_running == 1)
        reply = client.with_options(max_retries=3).completions.create(
            model="m", prompt="a", max_tokens=1
        )
        assert reply.usage


@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_large_body_is_refused_before_it_is_read(
    start_server: StartServer, is_chunked: bool
) -> None:
    server = start_server(max_body_bytes=1000)
    with RawClient(server) as client:
        head = f"POST {CHAT} HTTP/1.1\r\nHost: {client.host}\r\n"
        head += "Transfer-Encoding: chunked\r\n" if is_chunked else "Content-Length: 1001\r\n"
        client.send(f"{head}\r\n".encode())
        if is_chunked:
            client.send(b"3E9\r\n" + b" " * 1001 + b"\r\n")
        reply = client.read_until(b'"request_too_large"')
    assert reply.startswith(b"HTTP/1.1 413")
    assert b"more than the 1,000 bytes" in reply


def test_a_large_head_is_refused(start_server: StartServer) -> None:
    server = start_server(max_header_bytes=2000)
    with RawClient(server) as client:
        client.send(b"GET /health HTTP/1.1\r\nX: " + b"a" * 3000)
        assert client.read_all().startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("begun", [b"", b"GET /health HT", b"GET /health HTTP/1.1\r\nHost: 127."])
def test_a_head_that_does_not_come_ends_the_connection(
    start_server: StartServer, begun: bytes
) -> None:
    server = start_server(header_timeout_s=0.1)
    with RawClient(server) as client:
        client.send(begun)
        assert client.read_all() == b""


def test_a_second_head_is_timed_too(start_server: StartServer) -> None:
    server = start_server(header_timeout_s=0.1)
    with RawClient(server) as client:
        client.send(f"GET /health HTTP/1.1\r\nHost: {client.host}\r\n\r\n".encode())
        client.read_until(b"}")
        client.send(b"GET /health")
        assert client.read_all() == b""


def test_a_reply_may_take_longer_than_a_head(start_server: StartServer) -> None:
    server = start_server(header_timeout_s=0.05)
    with create_client(server) as client:
        reply = client.completions.create(
            model="m", prompt="a", max_tokens=60, extra_body={"ignore_eos": True}
        )
    assert reply.usage
    assert reply.usage.completion_tokens == 60


def test_a_body_that_does_not_come_is_408(start_server: StartServer) -> None:
    server = start_server(body_timeout_s=0.1)
    with RawClient(server) as client:
        head = f"POST {CHAT} HTTP/1.1\r\nHost: {client.host}\r\nContent-Length: 100\r\n\r\n{{"
        client.send(head.encode())
        assert client.read_all().startswith(b"HTTP/1.1 408")


def test_what_waits_is_kept_alive_by_comments(start_server: StartServer, host: EngineHost) -> None:
    server = start_server(keep_alive_s=0.05)
    clients = [RawClient(server) for _ in range(9)]
    for client in clients[:8]:
        client.post(CHAT, long_story())
    wait_until(lambda: host.metrics().num_running == 8)
    clients[8].post(CHAT, long_story(max_tokens=1))
    clients[8].read_until(b": keep-alive\n\n")
    for client in clients[:8]:
        client.close()
    rest = clients[8].read_until(b"data: [DONE]")
    assert b'"finish_reason":"length"' in rest
    clients[8].close()


@pytest.mark.parametrize(
    "options", [{"max_buffered_events": 8}, {"send_timeout_s": 0.1}], ids=lambda o: next(iter(o))
)
def test_a_client_that_does_not_read_is_given_up(host: EngineHost, options: dict[str, Any]) -> None:
    """The system's buffers take a whole reply of a small model, so the client is played here."""
    register = Register(1)
    app = create_app(Service(host, ServerOptions(**options), register))
    is_aborted = asyncio.run(_answer_nobody(app))
    assert is_aborted
    assert register.num_open == 0
    wait_until(lambda: host.metrics().num_running == 0)


async def _answer_nobody(app: Any) -> bool:
    """Runs a stream whose first piece is never taken; whether its connection was dropped."""
    aborted = asyncio.Event()
    body = json.dumps(long_story()).encode()
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop()
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    scope = {
        "type": "http",
        "method": "POST",
        "path": CHAT,
        "raw_path": CHAT.encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "http_version": "1.1",
        "server": ("127.0.0.1", 80),
        "client": ("127.0.0.1", 1),
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
        "state": {ABORT: aborted.set},
    }
    await app(scope, receive, send)
    return aborted.is_set()


def test_idle_connections_do_not_count(start_server: StartServer) -> None:
    server = start_server(max_requests=1)
    clients = [RawClient(server) for _ in range(20)]
    with create_http(server) as http:
        reply = http.post("/v1/completions", json={"prompt": "a", "max_tokens": 1})
    assert reply.status_code == 200
    for client in clients:
        client.close()
