"""Downloads through real worker processes from a fake hub."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.controllers.download import DownloadController
from app.controllers.hub import HubState
from app.core.download_events import DownloadFinished, OfferedModel, RepositoryFound
from app.core.paths import settings_path
from app.core.settings_store import SettingsStore
from app.hub.download_queue import QueueState
from tests.gguf_factory import TinyModel, to_gguf_tensors, write_gguf
from tests.hub.fake_hub import FakeHub

REPO = "org/Tiny-GGUF"
TIMEOUT_MS = 120_000
# Behind the model, so that a download takes a while; no reader looks at it.
_PADDING_BYTES = 8 << 20


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    """The hub of every process that is started from here on, with a cache of its own."""
    written = tmp_path / "written.gguf"
    model = TinyModel()
    write_gguf(written, model, to_gguf_tensors(model, model.weights()))
    content = written.read_bytes()
    with FakeHub().running() as hub:
        files = {"Tiny-Q8_0.gguf": content + bytes(_PADDING_BYTES), "Tiny-Q4_0.gguf": content}
        hub.add(REPO, files, cardData={"license": "mit"}, downloads=1234)
        for name, value in {
            "HF_ENDPOINT": hub.endpoint,
            "HF_HOME": str(tmp_path / "hf"),
            "HF_HUB_OFFLINE": "0",
            "HF_HUB_DOWNLOAD_TIMEOUT": "30",
            "NO_PROXY": "127.0.0.1,localhost",
        }.items():
            monkeypatch.setenv(name, value)
        yield hub


@pytest.fixture
def controller(qtbot: QtBot, hub: FakeHub) -> Iterator[DownloadController]:
    made = DownloadController(SettingsStore(settings_path()))
    yield made
    made.shutdown()


def look_up(qtbot: QtBot, controller: DownloadController, text: str = REPO) -> RepositoryFound:
    with qtbot.waitSignal(controller.hub.found, timeout=TIMEOUT_MS) as found:
        controller.hub.submit(text)
    return found.args[0]


def model_called(found: RepositoryFound, name: str) -> OfferedModel:
    return next(model for model in found.models if name in model.name)


def digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_words_find_a_repository_which_is_judged_before_its_weights(
    qtbot: QtBot, controller: DownloadController, hub: FakeHub
) -> None:
    with qtbot.waitSignal(controller.hub.searched, timeout=TIMEOUT_MS) as searched:
        controller.hub.submit("tiny gguf")
    (hit,) = searched.args[0].repositories
    assert (hit.repo_id, hit.license, hit.downloads) == (REPO, "mit", 1234)
    found = look_up(qtbot, controller, hit.repo_id)
    assert (found.repo_id, found.license, found.downloads) == (REPO, "mit", 1234)
    assert not any(model.is_refused for model in found.models)
    assert all(model.max_context for model in found.models)
    assert found.best == next(i for i, m in enumerate(found.models) if "Q8_0" in m.name)
    assert hub.sent("Tiny-Q8_0.gguf") == []
    assert controller.hub.state is HubState.IDLE


def test_a_queue_arrives_and_the_memory_is_given_back(
    qtbot: QtBot, controller: DownloadController, hub: FakeHub
) -> None:
    found = look_up(qtbot, controller)
    progress: list[object] = []
    controller.progressed.connect(lambda _key, event: progress.append(event))
    arrived: list[DownloadFinished] = []
    controller.finished.connect(lambda _key, event: arrived.append(event))
    for model in found.models:
        controller.enqueue(found, model)
    assert [e.state for e in controller.entries] == [QueueState.RUNNING, QueueState.WAITING]
    qtbot.waitUntil(lambda: len(arrived) == 2, timeout=TIMEOUT_MS)
    files = hub.repos[REPO]
    assert [digest_of(event.path) for event in arrived] == [
        files[model.main].digest() for model in found.models
    ]
    assert all(entry.state is QueueState.DONE for entry in controller.entries)
    assert progress
    qtbot.waitUntil(lambda: not controller.is_worker_running, timeout=TIMEOUT_MS)
    again = look_up(qtbot, controller)
    assert all(model.found_bytes == model.num_bytes for model in again.models)


def test_a_pause_keeps_what_has_arrived_and_resuming_goes_on(
    qtbot: QtBot, controller: DownloadController, hub: FakeHub
) -> None:
    found = look_up(qtbot, controller)
    hub.faults.silences.append(3 << 20)  # then the server says nothing more
    reached: list[int] = []
    controller.progressed.connect(lambda _key, event: reached.append(event.done_bytes))
    controller.enqueue(found, model_called(found, "Q8_0"))
    key = controller.entries[0].key
    qtbot.waitUntil(lambda: bool(reached) and reached[-1] > (2 << 20), timeout=TIMEOUT_MS)
    controller.pause(key)
    assert controller.entries[0].state is QueueState.PAUSED
    assert controller.entries[0].done_bytes > (2 << 20)
    with qtbot.waitSignal(controller.finished, timeout=TIMEOUT_MS) as finished:
        controller.resume(key)
    event = finished.args[1]
    assert event.resumed_bytes > (2 << 20)
    assert digest_of(event.path) == hub.repos[REPO]["Tiny-Q8_0.gguf"].digest()


def test_what_cannot_be_is_one_sentence(
    qtbot: QtBot, controller: DownloadController, hub: FakeHub
) -> None:
    for text, word in (("https://hf.co/datasets/a", "not the address"), ("org/missing",) * 2):
        with qtbot.waitSignal(controller.hub.failed, timeout=TIMEOUT_MS) as failed:
            controller.hub.submit(text)
        assert word in failed.args[0].message
        assert "\n" not in failed.args[0].message
    assert controller.hub.state is HubState.IDLE


def test_a_question_can_be_dropped_for_another(
    qtbot: QtBot, controller: DownloadController, hub: FakeHub
) -> None:
    hub.faults.api_pause_s = 20.0
    controller.hub.submit("tiny")
    qtbot.waitUntil(lambda: bool(hub.requests), timeout=TIMEOUT_MS)
    hub.faults.api_pause_s = 0.0
    found: list[object] = []
    controller.hub.searched.connect(found.append)
    assert look_up(qtbot, controller).repo_id == REPO
    assert found == []


def test_a_token_reaches_the_worker_and_its_hub_alone(
    qtbot: QtBot, controller: DownloadController, hub: FakeHub
) -> None:
    with qtbot.waitSignal(controller.hub.token_told, timeout=TIMEOUT_MS) as told:
        controller.hub.save_token(hub.endpoint, "hf_ofThisSessionOnly")
    assert told.args[0].origin == "session", "the tests have no keyring"
    found = look_up(qtbot, controller)
    with qtbot.waitSignal(controller.finished, timeout=TIMEOUT_MS):
        controller.enqueue(found, model_called(found, "Q4_0"))
    sent = {(f"http://{r.host}", r.authorization) for r in hub.requests}
    assert sent == {(hub.endpoint, "Bearer hf_ofThisSessionOnly"), (hub.store, None)}
    with qtbot.waitSignal(controller.hub.token_told, timeout=TIMEOUT_MS) as told:
        controller.hub.forget_token(hub.endpoint)
    assert told.args[0].origin == "none"
