"""What takes long before the first step holds up nobody, and what is wrong with one request ends
that request alone."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from app.core.errors import AppError, EngineError
from app.core.events import EngineState, Event, FinishReason, PromptMeasured, TokensGenerated
from app.engine.constraint import JsonObject
from app.engine.detokenizer import Detokenizer
from app.engine.engine import Engine
from app.engine.grammar import TokenMatcher
from app.engine.host import EngineHost
from app.engine.request import Request, SamplingParams
from app.engine.request_handle import RequestHandle
from app.engine.sequence_factory import PreparedRequest
from tests.engine_hosts import ENDLESS, GREEDY, TIMEOUT_S, wait_until

HELD = SamplingParams(temperature=0.0, max_tokens=20)


class Gate:
    """Holds the preparing of prompts of one text; notes the order in which prompts came."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, held: str) -> None:
        self.prepared: list[str] = []
        self.reached, self.opened = threading.Event(), threading.Event()
        prepare = Engine.prepare

        def wait_and_prepare(
            engine: Engine, request: Request, submitted_s: float | None
        ) -> PreparedRequest:
            self.prepared.append(str(request.prompt))
            if request.prompt == held:
                self.reached.set()
                assert self.opened.wait(TIMEOUT_S)
            return prepare(engine, request, submitted_s)

        monkeypatch.setattr(Engine, "prepare", wait_and_prepare)


@pytest.fixture(scope="module")
def measured() -> queue.SimpleQueue[PromptMeasured]:
    """What the listener heard of."""
    return queue.SimpleQueue()


@pytest.fixture(scope="module")
def host(model_dir: Path, measured: queue.SimpleQueue[PromptMeasured]) -> Iterator[EngineHost]:
    def listen(event: Event) -> None:
        if isinstance(event, PromptMeasured):
            measured.put(event)

    with EngineHost(listen) as host:
        host.load_and_wait(model_dir, device="reference")
        yield host


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate(monkeypatch, held="slow")
    yield gate
    gate.opened.set()


def read_tokens(handle: RequestHandle, count: int) -> None:
    """Waits for so many; fails where the reply ends before."""
    said = (event for event in handle if isinstance(event, TokensGenerated))
    assert len([event for event, _ in zip(said, range(count), strict=False)]) == count


def submit(host: EngineHost, prompt: str, priority: int = 0) -> RequestHandle:
    return host.submit(Request(prompt=prompt, sampling=GREEDY, priority=priority))


# --- beside the engine ---------------------------------------------------------------------------


def test_replies_go_on_while_a_prompt_is_prepared(host: EngineHost, gate: Gate) -> None:
    running = host.submit(Request(prompt="Hello", sampling=ENDLESS))
    slow = submit(host, "slow")
    assert gate.reached.wait(TIMEOUT_S)
    read_tokens(running, 30)
    gate.opened.set()
    assert slow.result().text == submit(host, "slow").result().text
    running.cancel()


def test_a_prompt_is_cancelled_while_it_is_prepared(host: EngineHost, gate: Gate) -> None:
    slow = submit(host, "slow")
    assert gate.reached.wait(TIMEOUT_S)
    slow.cancel()
    completion = slow.result()
    assert completion.finish_reason is FinishReason.CANCELLED
    assert completion.usage.completion_tokens == 0
    gate.opened.set()
    assert submit(host, "next").result().finish_reason is FinishReason.LENGTH


def test_an_id_is_free_again_after_a_cancel_though_its_prompt_is_still_prepared(
    host: EngineHost, gate: Gate
) -> None:
    request = Request(prompt="slow", sampling=GREEDY)
    first = host.submit(request)
    assert gate.reached.wait(TIMEOUT_S)
    first.cancel()
    assert first.result().finish_reason is FinishReason.CANCELLED
    second = host.submit(request)
    gate.opened.set()
    assert len(second.result().token_ids) == 20
    assert gate.prepared == ["slow", "slow"]


def test_prompts_are_prepared_in_order_and_the_chat_before_the_port(
    host: EngineHost, gate: Gate
) -> None:
    handles = [submit(host, "slow", 1)]
    assert gate.reached.wait(TIMEOUT_S)
    handles += [submit(host, name, 1) for name in ("one", "two")] + [submit(host, "chat")]
    wait_until(lambda: host.metrics().num_waiting == 4)
    gate.opened.set()
    for handle in handles:
        handle.result()
    assert gate.prepared == ["slow", "chat", "one", "two"]


def test_unloading_cancels_what_is_prepared(host: EngineHost, gate: Gate, model_dir: Path) -> None:
    slow = submit(host, "slow")
    assert gate.reached.wait(TIMEOUT_S)
    host.unload().result(TIMEOUT_S)
    assert slow.result().finish_reason is FinishReason.CANCELLED
    gate.opened.set()
    with pytest.raises(EngineError, match="No model is loaded"):
        submit(host, "next").result()
    host.load_and_wait(model_dir, device="reference")


def test_a_prompt_is_measured_behind_those_that_are_asked_for(
    host: EngineHost, gate: Gate, measured: queue.SimpleQueue[PromptMeasured]
) -> None:
    handle = submit(host, "slow")
    assert gate.reached.wait(TIMEOUT_S)
    host.measure(Request(prompt="Hello"))
    next_handle = submit(host, "next")
    wait_until(lambda: host.metrics().num_waiting == 2)
    assert measured.empty()
    gate.opened.set()
    assert measured.get(timeout=TIMEOUT_S).num_tokens == 5
    assert gate.prepared == ["slow", "next"]
    handle.result(), next_handle.result()


# --- alone ---------------------------------------------------------------------------------------


@pytest.fixture
def neighbour(host: EngineHost) -> Iterator[RequestHandle]:
    """A reply that must not be touched by another's end."""
    alone = submit(host, "Neighbour").result()
    running = host.submit(Request(prompt="Neighbour", sampling=ENDLESS))
    read_tokens(running, 1)
    yield running
    read_tokens(running, 20)
    running.cancel()
    assert submit(host, "Neighbour").result().text == alone.text
    assert host.state is EngineState.READY


def test_a_fault_at_a_prompt_ends_that_request(
    host: EngineHost, neighbour: RequestHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(engine: Engine, *arguments: object) -> PreparedRequest:
        raise RuntimeError("broken library")

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "prepare", fail)
        with pytest.raises(AppError, match="broken library"):
            submit(host, "x").result()


def test_a_fault_of_a_mask_ends_that_request(
    host: EngineHost, neighbour: RequestHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(matcher: TokenMatcher) -> None:
        raise RuntimeError("broken library")

    monkeypatch.setattr(TokenMatcher, "allowed", fail)
    handle = host.submit(Request(prompt="x", sampling=HELD, constraint=JsonObject()))
    with pytest.raises(AppError, match="broken library"):
        handle.result()


def test_rules_that_leave_no_token_end_that_request(
    host: EngineHost, neighbour: RequestHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    def allow_none(matcher: TokenMatcher) -> np.ndarray:
        return np.zeros(matcher._vocab_size, np.bool_)

    monkeypatch.setattr(TokenMatcher, "allowed", allow_none)
    handle = host.submit(Request(prompt="x", sampling=HELD, constraint=JsonObject()))
    with pytest.raises(EngineError, match="no token to choose from"):
        handle.result()


def test_a_fault_at_a_text_ends_that_request(
    host: EngineHost, neighbour: RequestHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = Detokenizer.add
    broken: list[Detokenizer] = []

    def fail(detokenizer: Detokenizer, token_id: int) -> str:
        if detokenizer in broken:
            raise RuntimeError("broken library")
        return add(detokenizer, token_id)

    prepare = Engine.prepare

    def prepare_broken(
        engine: Engine, request: Request, submitted_s: float | None
    ) -> PreparedRequest:
        prepared = prepare(engine, request, submitted_s)
        broken.append(prepared.sequence._detokenizer)
        return prepared

    with monkeypatch.context() as patch:
        patch.setattr(Detokenizer, "add", fail)
        patch.setattr(Engine, "prepare", prepare_broken)
        with pytest.raises(AppError, match="broken library"):
            submit(host, "x").result()
