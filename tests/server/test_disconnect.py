"""Clients that go away: the engine stops working for them, and nothing is left."""

from __future__ import annotations

from contextlib import ExitStack

import psutil
import pytest

from app.core.events import Event
from app.core.server_events import ServerRequestFinished, ServerRequestState
from app.engine.executors.block_tables import KV_PAGE_TOKENS
from app.engine.host import EngineHost
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


def test_a_storm_of_200_clients_leaves_nothing(start_server: StartServer, host: EngineHost) -> None:
    """Each has its first bytes, those that wait by comments, and is gone then."""
    server = start_server(max_requests=256, keep_alive_s=0.1)
    _drop([RawClient(server) for _ in range(20)])  # first use of what stays
    wait_until(lambda: _is_idle(host))
    before_bytes, num_connections = _memory_without_kv(host), _num_connections()
    _drop([RawClient(server) for _ in range(200)])
    wait_until(lambda: _is_idle(host))
    with create_client(server) as client:
        reply = client.completions.create(
            model="m", prompt="The capital of France is", temperature=0, max_tokens=8
        )
    assert "Paris" in reply.choices[0].text
    wait_until(lambda: _num_connections() <= num_connections)
    assert _memory_without_kv(host) - before_bytes < MAX_GROWTH_BYTES


def _num_connections() -> int:
    return len(psutil.Process().net_connections("tcp"))


def _memory_without_kv(host: EngineHost) -> int:
    """Pages of the KV cache are taken from the system when first written, and kept for others."""
    assert host.model
    num_pages = host.metrics().pages_used + host.metrics().pages_cached
    kv_bytes = num_pages * KV_PAGE_TOKENS * host.model.kv_bytes_per_token
    return int(psutil.Process().memory_info().rss) - kv_bytes


def _drop(clients: list[RawClient]) -> None:
    for client in clients:
        client.post("/v1/chat/completions", long_story())
    for client in clients:
        client.read_until(b'"role":"assistant"')
        client.close()
