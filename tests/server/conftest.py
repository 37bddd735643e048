"""One real server over the starter model for all tests here, and clients for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from openai import OpenAI

from app.core.events import Event
from app.engine.host import EngineHost
from app.server.options import ServerOptions
from app.server.runner import ServerRunner

MAX_MODEL_LEN = 1024
StartServer = Callable[..., ServerRunner]


@pytest.fixture(scope="session")
def host(starter_checkpoint: Path) -> Iterator[EngineHost]:
    """The starter model on the CPU."""
    with EngineHost() as host:
        host.load_and_wait(starter_checkpoint, "cpu", MAX_MODEL_LEN)
        yield host


@pytest.fixture(scope="session")
def server(host: EngineHost) -> Iterator[ServerRunner]:
    """A port without a key, with limits that no test of replies meets."""
    runner = ServerRunner(host, ServerOptions(port=0))
    runner.start()
    yield runner
    runner.stop()


@pytest.fixture
def start_server(host: EngineHost) -> Iterator[StartServer]:
    """Opens further ports with options of their own; closes them behind the test."""
    runners: list[ServerRunner] = []

    def start(listener: Callable[[Event], None] | None = None, **options: Any) -> ServerRunner:
        runner = ServerRunner(host, ServerOptions(**{"port": 0, **options}), listener)
        runners.append(runner)
        runner.start()
        return runner

    yield start
    for runner in runners:
        runner.stop()


@pytest.fixture
def client(server: ServerRunner) -> Iterator[OpenAI]:
    """OpenAI's own client; what is refused is not tried again."""
    with create_client(server) as client:
        yield client


@pytest.fixture
def http(server: ServerRunner) -> Iterator[httpx2.Client]:
    """For what OpenAI's client does not send."""
    with create_http(server) as client:
        yield client


def create_client(server: ServerRunner, api_key: str = "none") -> OpenAI:
    """For another port than that of `client`."""
    return OpenAI(base_url=server.base_url, api_key=api_key, max_retries=0, timeout=120)


def create_http(server: ServerRunner) -> httpx2.Client:
    """Addresses begin behind the port's number."""
    return httpx2.Client(base_url=server.base_url.removesuffix("/v1"), timeout=120)
