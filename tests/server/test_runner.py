"""Opening and closing the port, and what it tells meanwhile."""

from __future__ import annotations

import gc
import socket
import threading
from contextlib import closing
from typing import Any

import openai
import psutil
import pytest

from app.core.errors import PortBusyError
from app.core.events import Event
from app.core.server_events import (
    ServerFailed,
    ServerRequestFinished,
    ServerRequestProgressed,
    ServerRequestStarted,
    ServerRequestState,
    ServerStarted,
    ServerStopped,
)
from app.engine.host import EngineHost
from app.server.options import ServerOptions
from app.server.runner import ServerRunner
from tests.server.conftest import StartServer, create_client
from tests.server.raw_client import RawClient, long_story
from tests.server.waiting import wait_until

CHAT = "/v1/chat/completions"
MESSAGES: Any = [{"role": "user", "content": "Tell a long story."}]


def test_a_port_that_is_taken_is_named_and_another_one_offered(host: EngineHost) -> None:
    events: list[Event] = []
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortBusyError, match=f"Port {port} is in use") as caught:
            ServerRunner(host, ServerOptions(port=port), events.append).start()
        (failed,) = events
        assert isinstance(failed, ServerFailed)
        free_port = failed.free_port
        assert free_port == caught.value.free_port
        assert free_port not in (None, port)
        assert str(free_port) in failed.error.message
        assert psutil.Process().name() in failed.error.message
        runner = ServerRunner(host, ServerOptions(port=free_port or 0))
        assert runner.start() == f"http://127.0.0.1:{free_port}/v1"
        runner.stop()


def test_a_reserved_port_is_called_reserved(
    host: EngineHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Windows answers for the ranges that Hyper-V took; root here may bind any port."""
    bind = socket.socket.bind

    def refuse(self: socket.socket, address: Any) -> None:
        if address[1] == 8231:
            raise PermissionError(13, "reserved")
        bind(self, address)

    monkeypatch.setattr(socket.socket, "bind", refuse, raising=False)
    with pytest.raises(PortBusyError, match="reserved port 8231") as caught:
        ServerRunner(host, ServerOptions(port=8231)).start()
    assert caught.value.free_port


def test_it_opens_and_closes_again_and_again_from_any_thread(host: EngineHost) -> None:
    events: list[Event] = []
    runner = ServerRunner(host, ServerOptions(port=0), events.append)
    assert runner.base_url == ""
    runner.stop()
    for _ in range(3):
        runner.start()
        assert runner.start() == runner.base_url  # open already
        with create_client(runner) as client:
            assert client.models.list().data
        thread = threading.Thread(target=runner.stop)
        thread.start()
        thread.join()
        assert runner.base_url == ""
    assert [type(event) for event in events] == [ServerStarted, ServerStopped] * 3


def test_a_server_that_ends_by_itself_is_told_and_can_be_opened_again(
    host: EngineHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[Event] = []
    runner = ServerRunner(host, ServerOptions(port=0), events.append)

    async def break_down(_counter: int) -> bool:
        raise RuntimeError("broken")

    runner.start()
    monkeypatch.setattr(runner._server, "on_tick", break_down)  # the class is other tests', too
    wait_until(lambda: isinstance(events[-1], ServerFailed))
    assert [type(event) for event in events] == [ServerStarted, ServerFailed]
    assert isinstance(events[-1], ServerFailed)
    assert events[-1].error.message == "The server ended by itself; the log has the reason."
    assert runner.base_url == ""
    runner.stop()  # tells nothing: it was told
    assert runner.start() == runner.base_url
    runner.stop()
    assert [type(event) for event in events[2:]] == [ServerStarted, ServerStopped]


def test_the_same_port_can_be_opened_at_once_behind_clients(host: EngineHost) -> None:
    runner = ServerRunner(host, ServerOptions(port=0))
    port = int(runner.start().removesuffix("/v1").rsplit(":", 1)[1])
    with create_client(runner) as client:
        assert client.models.list().data
        runner.stop()
        again = ServerRunner(host, ServerOptions(port=port))
        again.start()
        assert client.models.list().data
        again.stop()


def test_closing_ends_what_runs_and_tells_the_clients(host: EngineHost) -> None:
    events: list[Event] = []
    runner = ServerRunner(host, ServerOptions(port=0, keep_alive_s=0.1), events.append)
    runner.start()
    clients = [RawClient(runner) for _ in range(12)]  # more than are decoded at once
    for client in clients:
        client.post(CHAT, long_story())
    for client in clients:
        client.read_until(b'"role":"assistant"')
    runner.stop()
    for client in clients:
        assert b'data: {"error":{' in client.read_all()
        client.close()
    wait_until(lambda: host.metrics().num_running == host.metrics().num_waiting == 0)
    ends = [event for event in events if isinstance(event, ServerRequestFinished)]
    assert {end.state for end in ends} == {ServerRequestState.CANCELLED}
    assert len(ends) == 12
    assert isinstance(events[-1], ServerStopped)


def test_a_client_that_does_not_read_does_not_hold_the_port(host: EngineHost) -> None:
    """More is sent than the system takes for it, so that its connection cannot end in order."""
    runner = ServerRunner(host, ServerOptions(port=0))
    runner.start()
    with RawClient(runner) as client:
        request = f"GET /openapi.json HTTP/1.1\r\nHost: {client.host}\r\n\r\n".encode()
        client.send(1000 * request)
        client.read_until(b"OpenAI")
        gc.disable()  # it would close what is left open
        try:
            runner.stop()
            client.read_all()  # to the end that the server makes
        finally:
            gc.enable()
    assert runner.base_url == ""


def test_a_request_is_told_from_its_start_to_its_end(start_server: StartServer) -> None:
    events: list[Event] = []
    server = start_server(events.append)
    with create_client(server) as client:
        client.chat.completions.create(
            model="m", messages=MESSAGES, max_tokens=100, extra_body={"ignore_eos": True}
        )
    _, started, *progress, end = events
    assert isinstance(started, ServerRequestStarted)
    assert isinstance(end, ServerRequestFinished)
    assert started.client.startswith("OpenAI/Python")
    assert (started.path, started.model) == (CHAT, "SmolLM2-135M-Instruct")
    assert started.state is ServerRequestState.WAITING
    assert (end.state, end.status, end.completion_tokens) == ("finished", 200, 100)
    assert end.tok_s > 0
    assert end.prompt_tokens > 0
    assert end.error == ""
    assert all(isinstance(event, ServerRequestProgressed) for event in progress)
    assert len(progress) <= 4 * end.duration_s


@pytest.mark.parametrize("streams", [True, False])
def test_a_request_can_be_cancelled_by_its_id(
    start_server: StartServer, host: EngineHost, streams: bool
) -> None:
    events: list[Event] = []
    server = start_server(events.append)

    def cancel() -> None:
        wait_until(lambda: any(isinstance(event, ServerRequestProgressed) for event in events))
        server.cancel("no-such-request")
        (started,) = (event for event in events if isinstance(event, ServerRequestStarted))
        server.cancel(started.request_id)

    thread = threading.Thread(target=cancel)
    thread.start()
    with create_client(server) as client, pytest.raises(openai.APIError, match="cancelled"):
        list(
            client.with_options(max_retries=2).chat.completions.create(
                model="m",
                messages=MESSAGES,
                max_tokens=900,
                stream=streams,
                extra_body={"ignore_eos": True},
            )
        )
    thread.join()
    wait_until(lambda: isinstance(events[-1], ServerRequestFinished))
    ends = [event for event in events if isinstance(event, ServerRequestFinished)]
    assert [end.state for end in ends] == ["cancelled"]  # and not tried again by the client
    wait_until(lambda: host.metrics().num_running == 0)


def test_a_model_that_is_unloaded_ends_its_streams(starter_checkpoint: Any) -> None:
    with EngineHost() as host:
        host.load_and_wait(starter_checkpoint, "cpu", 512)
        runner = ServerRunner(host, ServerOptions(port=0))
        runner.start()
        with RawClient(runner) as client:
            client.post(CHAT, long_story(max_tokens=400))
            client.read_until(b'"content":"')
            host.unload().result()
            assert b"unloaded" in client.read_until(b'"engine_not_ready"')
        runner.stop()
