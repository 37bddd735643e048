"""The engine's thread: states, events, cancelling, failures that the program survives."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.core.errors import (
    CheckpointError,
    ContextLengthError,
    EngineError,
    MemoryShortageError,
    ResourceError,
    UsageError,
)
from app.core.events import (
    EngineState,
    EngineStateChanged,
    Event,
    FinishReason,
    MemorySampled,
    RequestFailed,
    RequestFinished,
    TokensGenerated,
)
from app.engine import host as host_module
from app.engine.executors.reference import ReferenceExecutor
from app.engine.host import EngineHost
from app.engine.request import Message, Request
from tests.engine_hosts import ENDLESS, GREEDY, TIMEOUT_S
from tests.tiny_models import write_chat_model


class Recorder:
    """A listener that keeps every event, and may act on one."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.on_event: Callable[[Event], None] = lambda event: None

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        self.on_event(event)

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def states(self) -> list[EngineState]:
        return [event.state for event in self.of(EngineStateChanged)]


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def host(recorder: Recorder) -> Iterator[EngineHost]:
    with EngineHost(recorder) as host:
        yield host


@pytest.fixture
def loaded(host: EngineHost, model_dir: Path) -> EngineHost:
    host.load_and_wait(model_dir, device="reference")
    return host


def test_load_reports_the_model_and_its_states(
    host: EngineHost, recorder: Recorder, model_dir: Path
) -> None:
    assert host.state is EngineState.UNLOADED
    model = host.load_and_wait(model_dir, device="reference", max_model_len=512)
    assert host.state is EngineState.READY
    assert (model.name, model.device, model.max_model_len) == ("tiny", "reference", 512)
    assert model.architecture == "LlamaForCausalLM"
    assert model.kv_bytes_per_token == 2 * 3 * 2 * 12 * 4
    assert model.weights_bytes > 0
    assert model.has_chat_template
    assert recorder.states == [EngineState.LOADING, EngineState.READY]
    assert recorder.of(EngineStateChanged)[-1].model == model


def test_the_context_is_the_models_own_when_it_fits(loaded: EngineHost, recorder: Recorder) -> None:
    assert recorder.of(EngineStateChanged)[-1].model.max_model_len == 4096


def test_a_handle_gives_the_reply(loaded: EngineHost) -> None:
    request = Request(messages=(Message("user", "Hello"),), sampling=GREEDY)
    handle = loaded.submit(request)
    assert handle.request_id == request.request_id
    completion = handle.result()
    assert completion.finish_reason is FinishReason.LENGTH
    assert len(completion.token_ids) == completion.usage.completion_tokens == 20
    assert (
        completion.text == loaded.submit(Request(request.messages, sampling=GREEDY)).result().text
    )


def test_handle_and_listener_see_the_same_events(loaded: EngineHost, recorder: Recorder) -> None:
    events = list(loaded.submit(Request(prompt="Hello", sampling=GREEDY)))
    assert isinstance(events[-1], RequestFinished)
    heard = [event for event in recorder.events if hasattr(event, "request_id")]
    assert heard == events


def test_requests_of_several_threads_are_served_one_after_the_other(loaded: EngineHost) -> None:
    alone = loaded.submit(Request(prompt="Hello", sampling=GREEDY)).result().text
    texts: list[str] = []

    def ask() -> None:
        texts.append(loaded.submit(Request(prompt="Hello", sampling=GREEDY)).result().text)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT_S)
    assert texts == [alone] * 4


def test_cancel_acts_before_the_next_token(loaded: EngineHost, recorder: Recorder) -> None:
    request = Request(prompt="Hello", sampling=ENDLESS)

    def cancel_at_the_fifth(event: Event) -> None:
        if isinstance(event, TokensGenerated) and len(recorder.of(TokensGenerated)) == 5:
            loaded.cancel(request.request_id)

    recorder.on_event = cancel_at_the_fifth
    completion = loaded.submit(request).result()
    assert completion.finish_reason is FinishReason.CANCELLED
    assert len(completion.token_ids) == 5


def test_cancel_of_a_waiting_request_leaves_the_running_one(loaded: EngineHost) -> None:
    running = loaded.submit(Request(prompt="Hello", sampling=ENDLESS))
    waiting = loaded.submit(Request(prompt="Hello", sampling=GREEDY))
    waiting.cancel()
    assert waiting.result().usage.completion_tokens == 0
    running.cancel()
    assert running.result().finish_reason is FinishReason.CANCELLED
    running.cancel()  # over: no effect
    assert len(loaded.submit(Request(prompt="Hello", sampling=GREEDY)).result().token_ids) == 20


def test_a_refused_request_fails_alone(loaded: EngineHost) -> None:
    handle = loaded.submit(Request(prompt="x" * 5000, sampling=GREEDY))
    with pytest.raises(ContextLengthError, match=r"5,000 tokens.* 4,096"):
        handle.result()
    assert loaded.state is EngineState.READY
    assert loaded.submit(Request(prompt="x", sampling=GREEDY)).result().text


def test_a_request_that_runs_already_is_refused_and_goes_on(loaded: EngineHost) -> None:
    request = Request(prompt="Hello", sampling=ENDLESS)
    first = loaded.submit(request)
    with pytest.raises(UsageError, match="running already"):
        loaded.submit(request).result()
    first.cancel()
    assert first.result().finish_reason is FinishReason.CANCELLED
    assert loaded.submit(Request(prompt="x", sampling=GREEDY)).result().text


def test_a_request_without_a_model_fails(host: EngineHost) -> None:
    with pytest.raises(EngineError, match="No model is loaded"):
        host.submit(Request(prompt="x")).result()


def test_a_bad_folder_fails_the_load_and_names_it(
    host: EngineHost, recorder: Recorder, tmp_path: Path, model_dir: Path
) -> None:
    with pytest.raises(CheckpointError, match="not a native checkpoint"):
        host.load_and_wait(tmp_path)
    assert recorder.states == [EngineState.LOADING, EngineState.FAILED]
    assert recorder.of(EngineStateChanged)[-1].error.kind == "CheckpointError"
    host.load_and_wait(model_dir, device="reference")
    assert host.state is EngineState.READY


def test_a_model_that_does_not_fit_is_refused_with_numbers(
    host: EngineHost, model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.engine.placement.available_memory_bytes", lambda: 100_000)
    with pytest.raises(ResourceError, match=r"GiB.* 128 tokens.* GiB are free"):
        host.load_and_wait(model_dir, device="reference")


def test_a_failing_executor_fails_the_requests_and_spares_the_program(
    loaded: EngineHost, recorder: Recorder, model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(ReferenceExecutor, "step", _raise_fault)
        first = loaded.submit(Request(prompt="x", sampling=GREEDY))
        second = loaded.submit(Request(prompt="y", sampling=GREEDY))
        for handle in (first, second):
            (failed,) = handle
            assert isinstance(failed, RequestFailed)
    assert loaded.state is EngineState.FAILED
    assert "broken kernel" in recorder.of(EngineStateChanged)[-1].error.message
    with pytest.raises(EngineError, match=r"load a model again.*broken kernel"):
        loaded.submit(Request(prompt="x")).result()
    loaded.load_and_wait(model_dir, device="reference")
    assert loaded.submit(Request(prompt="x", sampling=GREEDY)).result().text


def _raise_fault(self: ReferenceExecutor, chunks: object) -> None:
    raise RuntimeError("broken kernel")


def test_running_out_of_memory_is_told_as_such(
    loaded: EngineHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhaust(self: ReferenceExecutor, chunks: object) -> None:
        raise MemoryError

    monkeypatch.setattr(ReferenceExecutor, "step", exhaust)
    with pytest.raises(MemoryShortageError, match="out of memory"):
        loaded.submit(Request(prompt="x")).result()


def test_unload_cancels_and_leaves_nothing(loaded: EngineHost, recorder: Recorder) -> None:
    handle = loaded.submit(Request(prompt="Hello", sampling=ENDLESS))
    loaded.unload().result(TIMEOUT_S)
    assert handle.result().finish_reason is FinishReason.CANCELLED
    assert recorder.states[-2:] == [EngineState.UNLOADING, EngineState.UNLOADED]
    with pytest.raises(EngineError):
        loaded.submit(Request(prompt="x")).result()


def test_loading_replaces_the_present_model(
    loaded: EngineHost, recorder: Recorder, tmp_path: Path
) -> None:
    handle = loaded.submit(Request(prompt="Hello", sampling=ENDLESS))
    other = write_chat_model(tmp_path / "other", seed=1)
    assert loaded.load_and_wait(other, device="reference").name == "other"
    assert handle.result().finish_reason is FinishReason.CANCELLED
    assert recorder.states[2:] == [EngineState.UNLOADING, EngineState.LOADING, EngineState.READY]


def test_close_cancels_ends_the_thread_and_is_final(model_dir: Path) -> None:
    others = set(threading.enumerate())  # of hosts that other tests share
    host = EngineHost()
    host.load(model_dir, device="reference")
    handle = host.submit(Request(prompt="Hello", sampling=ENDLESS))
    host.close()
    assert handle.result().finish_reason is FinishReason.CANCELLED
    assert not any(thread.name == "engine" for thread in set(threading.enumerate()) - others)
    host.close()
    with pytest.raises(EngineError, match="closed"):
        host.submit(Request(prompt="x"))


def test_memory_is_sampled_while_a_model_is_loaded(
    host: EngineHost, recorder: Recorder, model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_module, "MEMORY_SAMPLE_INTERVAL_S", 0.05)
    model = host.load_and_wait(model_dir, device="reference")
    deadline = time.monotonic() + TIMEOUT_S
    while len(recorder.of(MemorySampled)) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    host.unload().result(TIMEOUT_S)
    samples = recorder.of(MemorySampled)
    assert len(samples) >= 3
    assert samples[0].weights_bytes == model.weights_bytes
    assert 0 < samples[0].rss_bytes < samples[0].total_bytes
    assert (samples[-1].weights_bytes, samples[-1].kv_bytes) == (0, 0), "what an unload gave back"
    time.sleep(0.15)
    assert recorder.of(MemorySampled) == samples


def test_an_idle_engine_uses_no_processor(loaded: EngineHost) -> None:
    before = used_s(loaded._thread)
    time.sleep(0.5)
    assert used_s(loaded._thread) - before < 0.05


def used_s(thread: threading.Thread) -> float:
    """Of the processor, by this thread alone: others of this process may have run meanwhile."""
    (own,) = (one for one in psutil.Process().threads() if one.id == thread.native_id)
    return own.user_time + own.system_time
