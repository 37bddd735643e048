"""Every state of the Download page as a picture: nothing is cut off, everything has a name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.controllers.download import DownloadController
from app.core.download_events import DownloadFinished, EndpointProbed, TokenTold
from app.core.events import ErrorInfo, JobFailed
from app.core.paths import downloads_path, settings_path
from app.core.settings_store import SettingsStore
from app.ui.pages.download_page import DownloadPage
from app.ui.theme import Theme, ThemeMode
from tests.ui.download_samples import (
    ARRIVED,
    ENTRY,
    FOLDER_ENTRY,
    FOUND,
    GIB,
    LARGE,
    RESULTS,
    RUNNING,
    SHARDS,
    SMALL,
    STALLED,
)
from tests.ui.pictures import check_picture
from tests.ui.window_support import texts

HUB = "https://huggingface.co"
Show = Callable[[DownloadPage], str]


def _fail(page: DownloadPage, kind: str, message: str) -> None:
    page._hub.submit("meta-llama/Llama-3.1-8B")
    page._hub._link.event_received.emit(JobFailed(ErrorInfo(kind, message, "the answer")))


def _run(page: DownloadPage, *events: object) -> None:
    page._controller.enqueue(FOUND, SMALL)
    for event in events:
        page._controller._link.event_received.emit(event)


def empty(page: DownloadPage) -> str:
    return "Find a model for this machine"


def searching(page: DownloadPage) -> str:
    page._hub.submit("qwen3 4b gguf")
    return "Searching for qwen3 4b gguf"


def results(page: DownloadPage) -> str:
    page._hub.searched.emit(RESULTS)
    return "The most downloaded first"


def nothing_found(page: DownloadPage) -> str:
    page._hub.searched.emit(replace(RESULTS, repositories=()))
    return "Fewer words find more"


def offline(page: DownloadPage) -> str:
    message = (
        f"The hub did not answer for the list of files at main ({HUB}/meta-llama/Llama-3.1-8B); "
        "check the connection or the address of the hub (HF_ENDPOINT)."
    )
    _fail(page, "HubSilentError", message)
    return "check the connection"


def repository_found(page: DownloadPage) -> str:
    page._hub.searched.emit(RESULTS)
    page._hub.found.emit(FOUND)
    return "It runs after conversion."


def refused(page: DownloadPage) -> str:
    model = replace(SMALL, is_refused=True, max_context=None, converted_bytes=None)
    model = replace(model, reason="The architecture MambaForCausalLM is not supported.")
    page._hub.found.emit(replace(FOUND, models=(model,), best=None))
    return "MambaForCausalLM is not supported"


def gated(page: DownloadPage) -> str:
    repo = "meta-llama/Llama-3.1-8B"
    message = (
        f"{repo} is gated: accept its terms at {HUB}/{repo}, then give the program (or HF_TOKEN) "
        f"a token of that account, made at {HUB}/settings/tokens."
    )
    _fail(page, "HubAccessError", message)
    page._hub.token_told.emit(TokenTold(HUB, "keyring"))
    return "A token is kept in the system's keyring"


def hubs(page: DownloadPage) -> str:
    page.hub_button.click()
    page._hub.add_endpoint("https://hf-mirror.com")
    page._hub.probed.emit(EndpointProbed(HUB, 0.4, 2e6))
    page._hub.probed.emit(EndpointProbed("https://hf-mirror.com", 0, 0, "It did not answer."))
    return "A hub that stands in serves the same files"


def queued(page: DownloadPage) -> str:
    page._hub.found.emit(FOUND)
    _run(page, RUNNING)
    page._controller.enqueue(FOUND, LARGE)
    return "Waits its turn"


def running(page: DownloadPage) -> str:
    page._controller._queue.add(FOLDER_ENTRY)
    page._controller.start()
    page._controller._link.event_received.emit(replace(RUNNING, files=SHARDS))
    page.queue.cards[FOLDER_ENTRY.key].file_list.button.click()
    page._controller._link.event_received.emit(replace(RUNNING, files=SHARDS))
    return "left"


def paused(page: DownloadPage) -> str:
    _run(page, RUNNING)
    page._controller.pause(ENTRY.key)
    return "Paused"


def stalled(page: DownloadPage) -> str:
    _run(page, STALLED)
    return "the connection is made anew"


def failing_over(page: DownloadPage) -> str:
    note = f"{HUB} does not answer; https://hf-mirror.com goes on."
    _run(page, replace(RUNNING, note=note))
    return "hf-mirror.com goes on"


def checking(page: DownloadPage) -> str:
    _run(page, replace(RUNNING, is_checking=True, bytes_per_s=0.0, eta_s=None))
    return "checking what is here already"


def verifying(page: DownloadPage) -> str:
    _run(page, replace(RUNNING, done_bytes=4 * GIB, eta_s=None))
    return "verifying"


def wrong_hash(page: DownloadPage) -> str:
    note = f"{SMALL.main} arrived with wrong bytes; it is fetched once more."
    _run(page, replace(RUNNING, done_bytes=GIB, note=note))
    return "fetched once more"


def disk_full(page: DownloadPage) -> str:
    message = f"The disk is full after 3.0 GiB of {SMALL.main}; what has arrived is kept."
    _run(page, RUNNING, JobFailed(ErrorInfo("ResourceError", message)))
    return "The disk is full"


def no_room(page: DownloadPage) -> str:
    page._hub.found.emit(FOUND)
    page._controller.refused.emit(
        ErrorInfo(
            "ResourceError",
            "The download needs 8.0 GiB (4.0 GiB for the files + 4.0 GiB for the conversion) and "
            "64.0 MiB to spare; /home has 1.0 GiB free.",
        )
    )
    return "was not taken into the list"


def done(page: DownloadPage) -> str:
    _run(page, RUNNING, DownloadFinished(ARRIVED, 4 * GIB, GIB, 80.0))
    assert page.queue.cards[ENTRY.key].convert_button.isVisible()
    return "Downloaded and verified"


STATES: list[Show] = [
    empty, searching, results, nothing_found, offline, repository_found, refused, gated, hubs,
    queued, running, paused, stalled, failing_over, checking, verifying, wrong_hash, disk_full,
    no_room, done,
]  # fmt: skip


@pytest.fixture
def create_controller(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], DownloadController]]:
    """Without processes, with room for everything, each with an empty queue."""
    link = "app.controllers.worker_link.WorkerLink"
    monkeypatch.setattr(f"{link}.send", lambda _self, _command: None)
    monkeypatch.setattr(f"{link}.end", lambda _self, _timeout_s=0.0: None)
    monkeypatch.setattr("app.core.room.free_bytes", lambda _folder: 1 << 50)
    made: list[DownloadController] = []

    def create() -> DownloadController:
        downloads_path().unlink(missing_ok=True)
        settings_path().unlink(missing_ok=True)
        made.append(DownloadController(SettingsStore(settings_path())))
        return made[-1]

    yield create
    for controller in made:
        controller.shutdown()


@pytest.fixture(params=[("light", 680), ("dark", 1000)], ids=["light-narrow", "dark-wide"])
def look(request: pytest.FixtureRequest, qapp: QApplication) -> Iterator[tuple[str, int]]:
    """A theme and a width; the application looks as before afterwards."""
    before = qapp.styleSheet(), qapp.palette(), qapp.font()
    mode, width = request.param
    theme = Theme(qapp, ThemeMode(mode))
    yield mode, width
    theme.set_mode(ThemeMode.SYSTEM)
    qapp.styleHints().colorSchemeChanged.disconnect(theme._on_desktop_scheme_changed)
    qapp.setStyleSheet(before[0])
    qapp.setPalette(before[1])
    qapp.setFont(before[2])


def test_every_state_is_whole(
    qtbot: QtBot, create_controller: Callable[[], DownloadController], look: tuple[str, int]
) -> None:
    mode, width = look
    for show in STATES:
        page = DownloadPage(create_controller())
        qtbot.addWidget(page)
        page.resize(width, 900)
        page.show()
        sentence = show(page)
        QApplication.processEvents()
        assert sentence in texts(page), show.__name__
        check_picture(page, f"{show.__name__}-{mode}-{width}")
        page.hide()
