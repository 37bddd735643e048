"""Downloads through a real worker process from a fake hub."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.controllers.download import DownloadController, DownloadState
from app.core.download_events import DownloadFinished, OfferedModel, RepositoryFound
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
    made = DownloadController()
    yield made
    made.shutdown()


def look_up(qtbot: QtBot, controller: DownloadController, text: str = REPO) -> RepositoryFound:
    with qtbot.waitSignal(controller.found, timeout=TIMEOUT_MS) as found:
        controller.look_up(text)
    return found.args[0]


def model_called(found: RepositoryFound, name: str) -> OfferedModel:
    return next(model for model in found.models if name in model.name)


def test_a_repository_is_judged_before_its_weights(
    qtbot: QtBot, controller: DownloadController, hub: FakeHub
) -> None:
    found = look_up(qtbot, controller)
    assert (found.repo_id, found.license, found.downloads) == (REPO, "mit", 1234)
    assert not any(model.is_refused for model in found.models)
    assert all(model.max_context for model in found.models)
    assert hub.sent("Tiny-Q8_0.gguf") == []
    assert controller.state is DownloadState.IDLE


def test_a_model_arrives_and_the_memory_is_given_back(
    qtbot: QtBot, controller: DownloadController, hub: FakeHub
) -> None:
    found = look_up(qtbot, controller)
    progress: list[object] = []
    controller.progressed.connect(progress.append)
    with qtbot.waitSignal(controller.finished, timeout=TIMEOUT_MS) as finished:
        controller.download(model_called(found, "Q4_0"))
    event = finished.args[0]
    assert isinstance(event, DownloadFinished)
    digest = hashlib.sha256(event.path.read_bytes()).hexdigest()
    assert digest == hub.repos[REPO]["Tiny-Q4_0.gguf"].digest()
    assert progress
    qtbot.waitUntil(lambda: not controller.is_worker_running, timeout=TIMEOUT_MS)
    again = look_up(qtbot, controller)
    assert model_called(again, "Q4_0").found_bytes == event.num_bytes


def test_a_pause_keeps_what_has_arrived_and_resuming_goes_on(
    qtbot: QtBot, controller: DownloadController, hub: FakeHub
) -> None:
    found = look_up(qtbot, controller)
    hub.faults.silences.append(3 << 20)  # then the server says nothing more
    reached: list[int] = []
    controller.progressed.connect(lambda progress: reached.append(progress.done_bytes))
    controller.download(model_called(found, "Q8_0"))
    qtbot.waitUntil(lambda: bool(reached) and reached[-1] > (2 << 20), timeout=TIMEOUT_MS)
    with qtbot.waitSignal(controller.paused, timeout=TIMEOUT_MS):
        controller.pause()
    assert controller.state is DownloadState.PAUSED
    with qtbot.waitSignal(controller.finished, timeout=TIMEOUT_MS) as finished:
        controller.resume()
    event = finished.args[0]
    assert event.resumed_bytes > (2 << 20)
    assert hashlib.sha256(event.path.read_bytes()).hexdigest() == (
        hub.repos[REPO]["Tiny-Q8_0.gguf"].digest()
    )


def test_what_cannot_be_is_one_sentence(
    qtbot: QtBot, controller: DownloadController, hub: FakeHub
) -> None:
    for text, word in (("just words", "not the name"), ("org/missing", "org/missing")):
        with qtbot.waitSignal(controller.failed, timeout=TIMEOUT_MS) as failed:
            controller.look_up(text)
        assert word in failed.args[0].message
        assert "\n" not in failed.args[0].message
    assert controller.state is DownloadState.IDLE
