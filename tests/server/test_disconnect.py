"""Clients that go away: the engine stops working for them, and nothing is left."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from app.core.events import Event
from app.core.server_events import ServerRequestFinished, ServerRequestState
from app.engine.executors.block_tables import KV_PAGE_TOKENS
from app.engine.host import EngineHost
from app.server.options import ServerOptions
from app.server.runner import ServerRunner
from tests.server.conftest import StartServer, create_client
from tests.server.raw_client import RawClient, long_story
from tests.server.waiting import wait_until

MAX_GROWTH_BYTES = 16 << 20


def _is_idle(host: EngineHost) -> bool:
    metrics = host.metrics()
    return metrics.num_running == metrics.num_waiting == 0


@pytest.mark.parametrize("streams", [True, False])
def test_a_reply_ends_with_its_connection(
    start_server: StartServer, host: EngineHost, streams: bool
) -> None:
    events: list[Event] = []
    server = start_server(events.append)
    with RawClient(server) as client:
        client.post("/v1/chat/completions", long_story(stream=streams, n=2))
        wait_until(lambda: host.metrics().num_running == 2)
        if streams:
            client.read_until(b'"content":"')
    wait_until(lambda: isinstance(events[-1], ServerRequestFinished))
    wait_until(lambda: _is_idle(host))
    end = events[-1]
    assert isinstance(end, ServerRequestFinished)
    assert (end.state, end.status) == (ServerRequestState.CANCELLED, 499)
    assert end.completion_tokens < 900


def test_a_request_that_waits_leaves_the_queue(start_server: StartServer, host: EngineHost) -> None:
    server = start_server()
    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(RawClient(server)).post("/v1/chat/completions", long_story())
        wait_until(lambda: host.metrics().num_running == 8)
        with RawClient(server) as client:
            client.post("/v1/chat/completions", long_story())
            wait_until(lambda: host.metrics().num_waiting == 1)
        wait_until(lambda: host.metrics().num_waiting == 0)
        assert host.metrics().num_running == 8
    wait_until(lambda: _is_idle(host))


def test_a_storm_of_200_clients_leaves_nothing(starter_checkpoint: Path) -> None:
    """Each has its first bytes, those that wait by comments, and is gone then.

    Memory of the KV cache, here a page for each slot, comes from the system when first written.
    """
    with EngineHost() as host, ExitStack() as stack:
        host.load_and_wait(starter_checkpoint, "cpu", KV_PAGE_TOKENS)
        server = ServerRunner(host, ServerOptions(port=0, max_requests=256, keep_alive_s=0.1))
        server.start()
        stack.callback(server.stop)
        _fill_pages(server, host.metrics().num_slots)
        _drop(server, 20)  # first use of what stays
        wait_until(lambda: _is_idle(host))
        before_bytes, num_connections = psutil.Process().memory_info().rss, _num_connections()
        _drop(server, 200)
        wait_until(lambda: _is_idle(host))
        _ask(server)
        wait_until(lambda: _num_connections() <= num_connections)
        assert psutil.Process().memory_info().rss - before_bytes < MAX_GROWTH_BYTES


def _fill_pages(server: ServerRunner, num_slots: int) -> None:
    """Prompts of nearly a page each, side by side."""
    prompts = [[100 + slot] * (KV_PAGE_TOKENS - 8) for slot in range(num_slots)]
    with create_client(server) as client:
        client.completions.create(
            model="m", prompt=prompts, max_tokens=8, extra_body={"ignore_eos": True}
        )


def _ask(server: ServerRunner) -> None:
    with create_client(server) as client:
        reply = client.completions.create(
            model="m", prompt="The capital of France is", temperature=0, max_tokens=8
        )
    assert "Paris" in reply.choices[0].text


def _num_connections() -> int:
    return len(psutil.Process().net_connections("tcp"))


def _drop(server: ServerRunner, num_clients: int) -> None:
    clients = [RawClient(server) for _ in range(num_clients)]
    for client in clients:
        client.post("/v1/chat/completions", long_story(max_tokens=200))
    for client in clients:
        client.read_until(b'"role":"assistant"')
        client.close()
