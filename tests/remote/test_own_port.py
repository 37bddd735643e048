"""The remote client against this program's own port with the starter model."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.events import Event, FinishReason, RequestFailed, RequestFinished, TokensGenerated
from app.engine.host import EngineHost
from app.engine.request import Message, Request, SamplingParams
from app.remote.client import list_models
from app.remote.endpoint import RemoteEndpoint
from app.remote.reply import RemoteReply
from app.server.options import ServerOptions
from app.server.runner import ServerRunner
from tests.remote.test_reply import failure_of, text_of, wait_for

KEY = "sk-own-port-1"
QUESTION = Message("user", "What is the capital of France?")


@pytest.fixture(scope="module")
def host(starter_checkpoint: Path) -> Iterator[EngineHost]:
    with EngineHost() as made:
        # What it answers is known for float32; int8 activations lead this small model elsewhere.
        made.load_and_wait(starter_checkpoint, "cpu", max_model_len=512, activations="fp32")
        yield made


@pytest.fixture
def endpoint(host: EngineHost) -> Iterator[RemoteEndpoint]:
    runner = ServerRunner(host, ServerOptions(port=0, api_key=KEY))
    base_url = runner.start()
    (model,) = asyncio.run(list_models(RemoteEndpoint(base_url, api_key=KEY)))
    yield RemoteEndpoint(base_url, model.name, KEY)
    runner.stop()


def ask(endpoint: RemoteEndpoint, *messages: Message, **sampling: object) -> list[Event]:
    events: list[Event] = []
    params = SamplingParams(temperature=0.0, **sampling)  # type: ignore[arg-type]
    RemoteReply(endpoint, Request(messages=messages, sampling=params), events.append).run()
    return events


def test_it_says_what_the_engine_says(endpoint: RemoteEndpoint, host: EngineHost) -> None:
    params = SamplingParams(temperature=0.0, max_tokens=24)
    local = host.submit(Request(messages=(QUESTION,), sampling=params)).result()
    events = ask(endpoint, QUESTION, max_tokens=24)
    assert "Paris" in local.text
    assert text_of(events) == local.text
    last = events[-1]
    assert isinstance(last, RequestFinished)
    assert last.finish_reason is local.finish_reason
    assert last.usage.prompt_tokens == local.usage.prompt_tokens
    assert last.usage.completion_tokens == local.usage.completion_tokens


def test_limits_and_stop_strings_travel(endpoint: RemoteEndpoint) -> None:
    last = ask(endpoint, QUESTION, max_tokens=3)[-1]
    assert isinstance(last, RequestFinished)
    assert (last.finish_reason, last.usage.completion_tokens) == (FinishReason.LENGTH, 3)
    assert "France" not in text_of(ask(endpoint, QUESTION, max_tokens=24, stop=("France",)))


def test_a_stop_frees_the_engine(endpoint: RemoteEndpoint, host: EngineHost) -> None:
    events: list[Event] = []
    params = SamplingParams(temperature=0.0, ignore_eos=True)
    story = Request(messages=(Message("user", "Tell a very long story."),), sampling=params)
    reply = RemoteReply(endpoint, story, events.append)
    thread = threading.Thread(target=reply.run)
    thread.start()
    wait_for(lambda: any(isinstance(event, TokensGenerated) for event in events), 60)
    reply.cancel()
    thread.join(timeout=20)
    assert isinstance(events[-1], RequestFinished)
    assert events[-1].finish_reason is FinishReason.CANCELLED
    wait_for(lambda: host.metrics().num_running == 0, 20)


def test_what_it_refuses_is_its_own_sentence(endpoint: RemoteEndpoint) -> None:
    events = ask(endpoint, Message("user", "word " * 3000))
    assert "answered 400" in failure_of(events)
    assert isinstance(events[-1], RequestFailed)
    wrong = RemoteEndpoint(endpoint.base_url, endpoint.model, "sk-wrong-key")
    assert "answered 401" in failure_of(ask(wrong, QUESTION))
