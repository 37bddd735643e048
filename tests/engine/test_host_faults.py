"""Faults of native code, wherever they come: requests end, nobody waits, the thread lives."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.core.errors import OutOfMemoryError
from app.core.events import EngineState, FinishReason, RequestFailed, RequestFinished
from app.engine.engine import Engine
from app.engine.executors.reference import ReferenceExecutor
from app.engine.host import EngineHost
from app.engine.host_options import HostOptions
from app.engine.kv_store import KVStore
from app.engine.request import Request
from tests.engine_hosts import ENDLESS, GREEDY, TIMEOUT_S
from tests.engine_runs import write_hybrid_model


@pytest.fixture
def host(model_dir: Path) -> Iterator[EngineHost]:
    with EngineHost() as host:
        host.load_and_wait(model_dir, device="reference")
        yield host


def ask_cancel(host: EngineHost, request_id: str) -> None:
    host.cancel(request_id)


def ask_options(host: EngineHost, _request_id: str) -> None:
    host.set_options(HostOptions(kv_dir=Path("elsewhere"), idle_unload_s=None))


def ask_forget(host: EngineHost, _request_id: str) -> None:
    host.forget_conversation("any")


def ask_request(host: EngineHost, _request_id: str) -> None:
    host.submit(Request(prompt="another", sampling=GREEDY))


def ask_nothing(_host: EngineHost, _request_id: str) -> None:
    """It goes wrong by itself."""


def engine_of(host: EngineHost) -> Engine:
    """This host's own: hosts of other tests run in this process."""
    assert host._loaded is not None
    return host._loaded.engine


def raise_fault(*_args: Any) -> Any:
    raise RuntimeError("an illegal memory access")


def answer_again(host: EngineHost, model_dir: Path) -> str:
    host.load_and_wait(model_dir, device="reference")
    return host.submit(Request(prompt="Hello", sampling=GREEDY)).result().text


@pytest.mark.parametrize(
    ("method", "ask"),
    [
        ("step", ask_nothing),
        ("metrics", ask_nothing),
        ("memory_use", ask_nothing),
        ("queue", ask_request),
        ("cancel", ask_cancel),
        ("use_store", ask_options),
        ("forget", ask_forget),
    ],
)
def test_a_fault_ends_the_requests_and_not_the_thread(
    host: EngineHost,
    model_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    ask: Callable[[EngineHost, str], None],
) -> None:
    handle = host.submit(Request(prompt="Hello", sampling=ENDLESS))
    events = iter(handle)
    next(events)  # it runs
    with monkeypatch.context() as patched:
        patched.setattr(engine_of(host), method, raise_fault)
        ask(host, handle.request_id)
        *_, last = events
    assert isinstance(last, RequestFailed)
    assert "illegal memory access" in last.error.message
    assert host.state is EngineState.FAILED
    assert answer_again(host, model_dir)


@pytest.mark.parametrize(
    ("method", "ends_by"),
    [("cancel_all", "unload"), ("cancel_all", "load"), ("cancel_all", "close"), ("close", "load")],
)
def test_a_fault_at_the_end_of_a_model_leaves_nobody_waiting(
    model_dir: Path, monkeypatch: pytest.MonkeyPatch, method: str, ends_by: str
) -> None:
    with EngineHost() as host:
        host.load_and_wait(model_dir, device="reference")
        handle = host.submit(Request(prompt="Hello", sampling=ENDLESS))
        events = iter(handle)
        next(events)
        with monkeypatch.context() as patched:
            patched.setattr(engine_of(host), method, raise_fault)
            if ends_by == "unload":
                host.unload().result(TIMEOUT_S)
            elif ends_by == "load":
                host.load(model_dir, device="reference").result(TIMEOUT_S)
            else:
                host.close()
            *_, last = events
        assert isinstance(last, RequestFinished | RequestFailed)
        if ends_by != "close":
            assert answer_again(host, model_dir)


def test_a_state_that_cannot_be_copied_costs_no_reply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reply ends, is cancelled and goes on: without the copy, and with the same text."""
    model_dir = write_hybrid_model(tmp_path / "hybrid")
    request = Request(prompt="Once upon a time " * 4, sampling=GREEDY)
    with EngineHost() as host:
        host.load_and_wait(model_dir, device="reference")
        wanted = host.submit(request).result().text
        monkeypatch.setattr(ReferenceExecutor, "read_state", raise_memory)
        host.load_and_wait(model_dir, device="reference")
        assert [host.submit(Request(prompt=request.prompt, sampling=GREEDY)).result().text] == [
            wanted
        ]
        handle = host.submit(Request(prompt="Hello", sampling=ENDLESS))
        handle.cancel()
        assert handle.result().finish_reason is FinishReason.CANCELLED
        assert host.state is EngineState.READY


def raise_memory(*_args: Any) -> Any:
    raise OutOfMemoryError("The card is full.")


def test_a_cache_folder_that_cannot_be_used_costs_no_model(
    model_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows refuses to remove what a virus scanner has open."""

    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "is being used by another process", str(path))

    unfinished = tmp_path / "kv" / "conversation"
    unfinished.mkdir(parents=True)
    for name in ("index.json", "page.kv.part"):
        (unfinished / name).write_bytes(b"")
    monkeypatch.setattr(Path, "unlink", refuse)
    KVStore(tmp_path / "kv", "format")
    monkeypatch.setattr(KVStore, "_remove_unfinished", lambda self: refuse(unfinished))
    with EngineHost(options=HostOptions(kv_dir=tmp_path / "kv")) as host:
        host.load_and_wait(model_dir, device="reference")
        assert host.submit(Request(prompt="Hello", sampling=GREEDY, cache_key="one")).result().text


def test_what_is_forgotten_goes_where_nothing_is_kept_any_more(
    model_dir: Path, tmp_path: Path
) -> None:
    options = HostOptions(kv_dir=tmp_path / "kv")
    request = Request(prompt="Once upon a time " * 20, sampling=GREEDY, cache_key="one")
    with EngineHost(options=options) as host:
        host.load_and_wait(model_dir, device="reference")
        host.submit(request).result()
        host.unload().result(TIMEOUT_S)
        assert list((tmp_path / "kv").rglob("index.json"))
        host.set_options(HostOptions(kv_dir=tmp_path / "kv", keeps_conversations=False))
        host.forget_conversation("one")
    assert not list((tmp_path / "kv").rglob("*.kv"))


def test_the_time_to_the_first_token_counts_from_the_submission(
    host: EngineHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Waiting for another prompt to be prepared is part of it."""
    prepare = Engine.prepare

    def dawdle(engine: Engine, request: Request, submitted_s: float | None = None) -> Any:
        time.sleep(0.1)
        return prepare(engine, request, submitted_s)

    monkeypatch.setattr(Engine, "prepare", dawdle)
    handles = [host.submit(Request(prompt="Hello", sampling=GREEDY)) for _ in range(2)]
    first, second = (handle.result().usage.ttft_s for handle in handles)
    assert first >= 0.1
    assert second >= 0.2
