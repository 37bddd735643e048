"""The host with many clients, with nobody for a while, and with conversations on disk."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.errors import EngineError
from app.core.events import (
    EngineState,
    EngineStateChanged,
    Event,
    FinishReason,
    LoadedModel,
    RequestFinished,
    TokensGenerated,
)
from app.engine import host as host_module
from app.engine.constraint import JsonObject
from app.engine.host import EngineHost
from app.engine.host_options import HostOptions
from app.engine.metrics import EngineMetrics
from app.engine.request import Message, Request, SamplingParams, create_request_id
from app.engine.request_handle import RequestHandle
from tests.engine_hosts import ENDLESS, GREEDY, TIMEOUT_S, wait_until
from tests.tiny_models import write_chat_model


@pytest.fixture
def events() -> list[Event]:
    """What the listener heard."""
    return []


@pytest.fixture
def host(model_dir: Path, events: list[Event]) -> Iterator[EngineHost]:
    with EngineHost(events.append) as host:
        host.load_and_wait(model_dir, device="reference")
        yield host


def num_generated(handles: list[RequestHandle], events: list[Event]) -> set[str]:
    """The requests that have begun to speak."""
    wanted = {handle.request_id for handle in handles}
    said = {e.request_id for e in events if isinstance(e, TokensGenerated)}
    return wanted & said


# --- many ----------------------------------------------------------------------------------------


def test_eight_requests_run_at_once(host: EngineHost, events: list[Event]) -> None:
    assert host.model is not None
    assert host.model.num_slots == 8
    handles = [host.submit(Request(prompt="Hello", sampling=ENDLESS)) for _ in range(9)]
    wait_until(lambda: host.metrics().num_running == 8)
    assert host.metrics().num_waiting == 1
    wait_until(lambda: len(num_generated(handles, events)) == 8)
    for handle in handles:
        handle.cancel()
    assert {handle.result().finish_reason for handle in handles} == {FinishReason.CANCELLED}


def test_twenty_clients_that_leave_in_mid_reply_leave_nothing(
    host: EngineHost, events: list[Event]
) -> None:
    """Row 16 of the trials: no step is made for them, and the next request answers."""
    wanted = host.submit(Request(prompt="Hello", sampling=GREEDY)).result().text
    handles = [host.submit(Request(prompt=f"Hello {n}", sampling=ENDLESS)) for n in range(20)]
    wait_until(lambda: len(num_generated(handles, events)) == 8)
    for handle in handles:
        handle.cancel()
    assert {handle.result().finish_reason for handle in handles} == {FinishReason.CANCELLED}
    wait_until(lambda: host.metrics().num_running == 0)
    idle = host.metrics()
    assert (idle.num_waiting, idle.pages_used) == (0, 0)
    time.sleep(0.1)  # steps would be made in it
    assert host.metrics() == idle
    again = host.submit(Request(prompt="Hello", sampling=GREEDY)).result()
    assert again.text == wanted


def test_what_clients_ask_for_holds_beside_each_other(host: EngineHost) -> None:
    """Row 15 of the trials, the engine's part: seed, stop, json_object, text, all in one batch."""
    seeded = replace(GREEDY, temperature=1.0, seed=11)
    whole = host.submit(Request(prompt="Once", sampling=GREEDY)).result().text
    stop = whole[6:9]
    turns = (Message("user", "Answer in JSON."),)
    free = SamplingParams(temperature=1.0, seed=5, max_tokens=200)
    requests = [
        Request(prompt="Once", sampling=seeded),
        Request(prompt="Once", sampling=replace(GREEDY, stop=(stop,))),
        Request(messages=turns, sampling=free, constraint=JsonObject()),
        Request(prompt="Once", sampling=GREEDY),
    ]
    alone = [host.submit(request).result() for request in requests]
    again = [replace(request, request_id=create_request_id()) for request in requests]
    together = [handle.result() for handle in [host.submit(request) for request in again]]
    assert [reply.text for reply in together] == [reply.text for reply in alone]
    assert together[1].text == whole[: whole.index(stop)]
    assert together[1].finish_reason is FinishReason.STOP
    if together[2].finish_reason is FinishReason.STOP:
        assert isinstance(json.loads(together[2].text), dict)
    assert together[2].text.lstrip().startswith("{")


def test_metrics_are_whole_from_any_thread(host: EngineHost) -> None:
    seen: list[EngineMetrics] = []
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.is_set():
            seen.append(host.metrics())

    watcher = threading.Thread(target=watch)
    watcher.start()
    requests = [Request(prompt="x" * 50 * n, sampling=GREEDY) for n in range(1, 13)]
    replies = [handle.result() for handle in [host.submit(request) for request in requests]]
    wait_until(lambda: host.metrics().num_running == 0)
    is_over.set()
    watcher.join()
    last = host.metrics()
    assert last.tokens_decoded == sum(len(reply.token_ids) for reply in replies)
    assert last.tokens_cached == sum(reply.usage.cached_tokens for reply in replies)
    assert last.tokens_prefilled == 50 * 78 - last.tokens_cached
    assert all(m.num_running <= 8 and m.pages_used <= m.pages_total for m in seen)
    decoded = [m.tokens_decoded for m in seen]
    assert decoded == sorted(decoded)
    host.unload().result(TIMEOUT_S)
    wait_until(lambda: host.metrics() == EngineMetrics())


# --- nobody --------------------------------------------------------------------------------------


@pytest.fixture
def idle_host(
    model_dir: Path, events: list[Event], monkeypatch: pytest.MonkeyPatch
) -> Iterator[EngineHost]:
    """One whose model leaves after a moment."""
    monkeypatch.setattr(host_module, "MEMORY_SAMPLE_INTERVAL_S", 0.02)
    with EngineHost(events.append, HostOptions(idle_unload_s=0.1)) as host:
        host.load_and_wait(model_dir, device="reference", max_model_len=512)
        yield host


def states(events: list[Event]) -> list[tuple[EngineState, LoadedModel | None]]:
    return [(e.state, e.model) for e in events if isinstance(e, EngineStateChanged)]


def test_an_idle_model_leaves_and_the_next_request_brings_it_back(
    idle_host: EngineHost, events: list[Event]
) -> None:
    first = idle_host.model
    assert first is not None
    wait_until(lambda: idle_host.state is EngineState.UNLOADED)
    assert idle_host.model == first
    assert states(events)[-1] == (EngineState.UNLOADED, first)
    assert idle_host.submit(Request(prompt="Hello", sampling=GREEDY)).result().text
    seen = [state for state, _ in states(events)]
    left = seen.index(EngineState.UNLOADED)  # it may have left again by now
    assert seen[left + 1 : left + 3] == [EngineState.LOADING, EngineState.READY]
    again = idle_host.model
    assert again is not None
    assert (again.max_model_len, again.device) == (512, "reference")


def test_a_model_that_is_used_stays(idle_host: EngineHost, events: list[Event]) -> None:
    handle = idle_host.submit(Request(prompt="Hello", sampling=ENDLESS))
    finished = [e for e in handle if isinstance(e, RequestFinished)]
    assert finished[0].usage.completion_tokens > 400
    # A busy machine may take longer than the idle moment until the request is there.
    begun = next(event for event in events if isinstance(event, TokensGenerated))
    between = events[events.index(begun) : events.index(finished[0])]
    assert EngineState.UNLOADED not in [state for state, _ in states(between)]


def test_a_model_that_was_unloaded_by_hand_does_not_come_back(
    idle_host: EngineHost, events: list[Event]
) -> None:
    wait_until(lambda: idle_host.state is EngineState.UNLOADED)
    idle_host.unload().result(TIMEOUT_S)
    assert idle_host.model is None
    assert states(events)[-1] == (EngineState.UNLOADED, None)
    with pytest.raises(EngineError, match="No model is loaded"):
        idle_host.submit(Request(prompt="x")).result()


def test_a_model_that_is_gone_when_it_is_needed_again(
    tmp_path: Path, idle_host: EngineHost, events: list[Event]
) -> None:
    other = write_chat_model(tmp_path / "other")
    idle_host.load_and_wait(other, device="reference")
    wait_until(lambda: idle_host.state is EngineState.UNLOADED)
    (other / "manifest.json").unlink()
    with pytest.raises(EngineError, match="load a model again"):
        idle_host.submit(Request(prompt="x")).result()
    assert idle_host.state is EngineState.FAILED


def test_the_options_can_be_changed_while_a_model_is_loaded(
    host: EngineHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert host.state is EngineState.READY
    host.set_options(HostOptions(idle_unload_s=0.0))
    wait_until(lambda: host.state is EngineState.UNLOADED)


# --- on disk -------------------------------------------------------------------------------------


def test_a_conversation_goes_on_after_a_restart(model_dir: Path, tmp_path: Path) -> None:
    options = HostOptions(kv_dir=tmp_path / "kv")
    request = Request(prompt="Once upon a time " * 20, sampling=GREEDY, cache_key="one")
    with EngineHost(options=options) as host:
        host.load_and_wait(model_dir, device="reference")
        first = host.submit(request).result()
    with EngineHost(options=options) as host:
        host.load_and_wait(model_dir, device="reference")
        again = host.submit(request).result()
        assert again.usage.cached_tokens == again.usage.prompt_tokens - 1
        assert again.text == first.text
        host.forget_conversation("one")
    assert not [path for path in (tmp_path / "kv").rglob("*") if path.is_file()]


def test_an_idle_host_saves_without_being_asked(model_dir: Path, tmp_path: Path) -> None:
    with EngineHost(options=HostOptions(kv_dir=tmp_path / "kv")) as host:
        host.load_and_wait(model_dir, device="reference")
        request = Request(prompt="Once upon a time " * 20, sampling=GREEDY, cache_key="one")
        host.submit(request).result()
        wait_until(lambda: bool(list((tmp_path / "kv").rglob("index.json"))))
    assert list((tmp_path / "kv").rglob("*.kv"))
