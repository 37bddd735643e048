"""The port beside the engine in a real child process: asked with the official client."""

from __future__ import annotations

import os
import queue
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import openai
import psutil
import pytest

from app.core.events import EngineState, EngineStateChanged, Event, TokensGenerated, WorkerDied
from app.core.server_events import (
    ServerFailed,
    ServerRequestFinished,
    ServerRequestProgressed,
    ServerRequestState,
    ServerStarted,
    ServerStopped,
)
from app.workers.commands import (
    CancelServerRequest,
    ConfigureEngine,
    LoadModel,
    StartServer,
    StopServer,
    UnloadModel,
)
from app.workers.process import WorkerProcess

TIMEOUT_S = 240.0
KEY = "sk-port-0815"

E = TypeVar("E", bound=Event)


class Engine:
    """A worker process whose events can be waited for."""

    def __init__(self) -> None:
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self.seen: list[Event] = []
        self.process = WorkerProcess("engine", self._events.put)
        self.process.start()

    def wait_for(self, kind: type[E]) -> E:
        while True:
            event = self._events.get(timeout=TIMEOUT_S)
            self.seen.append(event)
            if isinstance(event, kind):
                return event

    def load(self, model_dir: Path) -> None:
        # What it answers is known for float32; int8 activations lead this small model elsewhere.
        self.process.send(LoadModel(model_dir, "cpu", max_model_len=1024, activations="fp32"))
        while self.wait_for(EngineStateChanged).state is not EngineState.READY:
            pass

    def open_port(self, api_key: str = "") -> openai.OpenAI:
        self.process.send(StartServer(0, api_key))
        started = self.wait_for(ServerStarted)
        return openai.OpenAI(base_url=started.base_url, api_key=api_key or "none", max_retries=0)


@pytest.fixture
def engine() -> Iterator[Engine]:
    made = Engine()
    yield made
    made.process.stop()


def say(client: openai.OpenAI, text: str, **options: object) -> str:
    reply = client.chat.completions.create(
        model="any",
        messages=[{"role": "user", "content": text}],
        temperature=0,
        max_completion_tokens=12,
        **options,  # type: ignore[call-overload]
    )
    return reply.choices[0].message.content or ""


def test_the_port_outlives_models(engine: Engine, starter_checkpoint: Path) -> None:
    with engine.open_port() as client:
        with pytest.raises(openai.APIStatusError) as refused:
            say(client, "Hello")
        assert refused.value.status_code == 503
        engine.load(starter_checkpoint)
        assert "Paris" in say(client, "What is the capital of France?")
        engine.process.send(UnloadModel())
        while engine.wait_for(EngineStateChanged).state is not EngineState.UNLOADED:
            pass
        with pytest.raises(openai.APIStatusError):
            say(client, "Hello")
        engine.load(starter_checkpoint)
        assert say(client, "Hello")
    finished = [e for e in engine.seen if isinstance(e, ServerRequestFinished)]
    assert {event.state for event in finished} >= {ServerRequestState.FINISHED}
    # Tokens of the port's requests do not travel to the window one by one.
    assert [e for e in engine.seen if isinstance(e, TokensGenerated)] == []


def test_another_model_while_a_reply_streams_ends_it_with_a_reason(
    engine: Engine, starter_checkpoint: Path
) -> None:
    client = engine.open_port()
    engine.load(starter_checkpoint)
    with client:
        story = "Tell a very long story."
        stream = client.chat.completions.create(
            model="any", messages=[{"role": "user", "content": story}], stream=True
        )
        pieces = iter(stream)
        next(pieces)
        engine.process.send(
            LoadModel(starter_checkpoint, "cpu", max_model_len=512, activations="fp32")
        )
        with pytest.raises(openai.APIError) as ended:
            for _ in pieces:
                pass
        assert "The model was unloaded meanwhile" in ended.value.message
        while (event := engine.wait_for(EngineStateChanged)).state is not EngineState.READY:
            pass  # 503 until then: official clients try again
        assert event.model is not None
        assert event.model.max_model_len == 512
        assert "Paris" in say(client, "What is the capital of France?")
    finished = [e for e in engine.seen if isinstance(e, ServerRequestFinished)]
    assert finished[0].state is ServerRequestState.FAILED


def test_memory_is_given_back_when_nobody_uses_the_model(
    engine: Engine, starter_checkpoint: Path
) -> None:
    engine.process.send(ConfigureEngine(idle_unload_s=0.5))
    engine.load(starter_checkpoint)
    process = psutil.Process(engine.process.pid)
    loaded_bytes = process.memory_info().rss
    while (event := engine.wait_for(EngineStateChanged)).state is not EngineState.UNLOADED:
        pass
    assert event.model is not None, "the next request loads it again"
    weights_bytes = event.model.weights_bytes
    assert weights_bytes > 50_000_000
    assert process.memory_info().rss < loaded_bytes - 0.8 * weights_bytes


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_what_is_kept_of_a_crash_holds_neither_key_nor_prompt(
    engine: Engine, starter_checkpoint: Path
) -> None:
    secret = "My neighbour buried the treasure below the apple tree"
    with engine.open_port(KEY) as client:
        engine.load(starter_checkpoint)
        assert say(client, secret)
    engine.process.send(StopServer())
    engine.wait_for(ServerStopped)  # the fault handler cannot walk the stack of a thread that runs
    os.kill(engine.process.pid or 0, signal.SIGSEGV)
    report = engine.wait_for(WorkerDied).report
    assert report is not None
    text = report.read_text(encoding="utf-8")
    assert "The engine process ended by itself with exit code -11, SIGSEGV." in text
    assert "Fatal Python error: Segmentation fault" in text
    assert "app/workers/child.py" in text
    assert KEY not in text
    assert "treasure" not in text


def test_a_request_is_cancelled_from_the_window(engine: Engine, starter_checkpoint: Path) -> None:
    client = engine.open_port(KEY)
    engine.load(starter_checkpoint)
    with client:
        stream = client.chat.completions.create(
            model="any",
            messages=[{"role": "user", "content": "Tell a very long story."}],
            stream=True,
        )
        next(iter(stream))
        progress = engine.wait_for(ServerRequestProgressed)
        assert progress.client.startswith("OpenAI/Python")
        engine.process.send(CancelServerRequest(progress.request_id))
        end = engine.wait_for(ServerRequestFinished)
        assert (end.request_id, end.state) == (progress.request_id, ServerRequestState.CANCELLED)
        stream.close()


def test_a_port_in_use_offers_another_and_the_key_is_asked_for(engine: Engine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        engine.process.send(StartServer(port))
        failed = engine.wait_for(ServerFailed)
    assert f"Port {port} is in use" in failed.error.message
    assert failed.free_port not in (None, port)
    with engine.open_port(KEY) as client:
        assert KEY not in repr(StartServer(1, KEY))
        with pytest.raises(openai.AuthenticationError):
            client.with_options(api_key="sk-wrong").models.list()
        assert client.models.list().data == []
        engine.process.send(StopServer())
        engine.wait_for(ServerStopped)
        with pytest.raises(openai.APIConnectionError):
            client.with_options(timeout=5).models.list()


def test_other_machines_need_a_key(engine: Engine) -> None:
    engine.process.send(StartServer(0, "", allow_lan=True))
    failed = engine.wait_for(ServerFailed)
    assert failed.error.kind == "UsageError"
