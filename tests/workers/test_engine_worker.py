"""The real engine in a real child process, with the starter model."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import psutil
import pytest

from app.core.events import (
    EngineState,
    EngineStateChanged,
    Event,
    FinishReason,
    RequestFailed,
    RequestFinished,
    TokensGenerated,
    WorkerDied,
)
from app.engine.request import Message, Request, SamplingParams
from app.workers.commands import CancelRequest, LoadModel, SubmitRequest, UnloadModel
from app.workers.process import WorkerProcess

TIMEOUT_S = 240.0
GREEDY = SamplingParams(temperature=0.0, max_tokens=24)
ENDLESS = SamplingParams(temperature=0.0, ignore_eos=True)

E = TypeVar("E", bound=Event)


class Engine:
    """A worker process whose events can be waited for."""

    def __init__(self) -> None:
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self.process = WorkerProcess("engine", self._events.put)
        self.process.start()

    def load(self, model_dir: Path) -> None:
        # What it answers is known for float32; int8 activations lead this small model elsewhere.
        self.process.send(LoadModel(model_dir, "cpu", max_model_len=512, activations="fp32"))
        while self.wait_for(EngineStateChanged).state is not EngineState.READY:
            pass

    def submit(self, text: str, sampling: SamplingParams) -> Request:
        request = Request(messages=(Message("user", text),), sampling=sampling)
        self.process.send(SubmitRequest(request))
        return request

    def wait_for(self, kind: type[E]) -> E:
        while True:
            event = self._events.get(timeout=TIMEOUT_S)
            if isinstance(event, kind):
                return event

    def read_reply(self) -> tuple[str, RequestFinished]:
        text = ""
        while True:
            event = self._events.get(timeout=TIMEOUT_S)
            if isinstance(event, TokensGenerated):
                text += event.text
            elif isinstance(event, RequestFinished):
                return text, event


@pytest.fixture
def engine() -> Iterator[Engine]:
    made = Engine()
    yield made
    made.process.stop()


def test_a_prompt_becomes_text(engine: Engine, starter_checkpoint: Path) -> None:
    engine.load(starter_checkpoint)
    request = engine.submit("What is the capital of France?", GREEDY)
    text, finished = engine.read_reply()
    assert "Paris" in text
    assert finished.request_id == request.request_id
    assert 0 < finished.usage.completion_tokens <= 24


def test_cancel_ends_the_reply(engine: Engine, starter_checkpoint: Path) -> None:
    engine.load(starter_checkpoint)
    request = engine.submit("Count for ever.", ENDLESS)
    engine.wait_for(TokensGenerated)
    engine.process.send(CancelRequest(request.request_id))
    _, finished = engine.read_reply()
    assert finished.finish_reason is FinishReason.CANCELLED


def test_kill_mid_reply_is_a_death_and_a_restart_answers_the_same(
    engine: Engine, starter_checkpoint: Path
) -> None:
    engine.load(starter_checkpoint)
    engine.submit("What is the capital of France?", GREEDY)
    before, _ = engine.read_reply()
    engine.submit("Count for ever.", ENDLESS)
    engine.wait_for(TokensGenerated)
    psutil.Process(engine.process.pid).kill()
    engine.wait_for(WorkerDied)
    engine.process.start()
    engine.load(starter_checkpoint)
    engine.submit("What is the capital of France?", GREEDY)
    after, _ = engine.read_reply()
    assert after == before


def test_unload_and_what_cannot_be_loaded(engine: Engine, starter_checkpoint: Path) -> None:
    engine.load(starter_checkpoint)
    engine.process.send(UnloadModel())
    while engine.wait_for(EngineStateChanged).state is not EngineState.UNLOADED:
        pass
    engine.submit("Anybody there?", GREEDY)
    assert engine.wait_for(RequestFailed).error.kind == "EngineError"
    engine.process.send(LoadModel(starter_checkpoint / "nothing here"))
    while (event := engine.wait_for(EngineStateChanged)).state is not EngineState.FAILED:
        pass
    assert event.error
    assert event.error.kind == "CheckpointError"
    engine.load(starter_checkpoint)


def test_stop_mid_reply_ends_cleanly(engine: Engine, starter_checkpoint: Path) -> None:
    engine.load(starter_checkpoint)
    engine.submit("Count for ever.", ENDLESS)
    engine.wait_for(TokensGenerated)
    pid = engine.process.pid
    engine.process.stop(timeout_s=TIMEOUT_S)
    assert pid
    assert not psutil.pid_exists(pid)
    assert engine.read_reply()[1].finish_reason is FinishReason.CANCELLED
