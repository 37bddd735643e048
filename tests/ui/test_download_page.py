"""The Download page shows what the controller tells, whatever comes of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from app.controllers.download import DownloadController
from app.controllers.hub import HubState
from app.core.download_events import DownloadFinished, EndpointProbed
from app.core.events import ErrorInfo, JobFailed, WorkerStopped
from app.core.paths import settings_path
from app.core.settings_store import SettingsStore
from app.hub.download_queue import QueueState
from app.ui.pages.download_page import DownloadPage
from app.workers.commands import (
    Command,
    DownloadModel,
    LookUpRepository,
    ProbeEndpoints,
    SearchRepositories,
)
from tests.ui.download_page import begin, remember_commands, tell
from tests.ui.download_samples import (
    ARRIVED,
    FOUND,
    GIB,
    LARGE,
    RESULTS,
    RUNNING,
    SHARDS,
    SMALL,
    STALLED,
)
from tests.ui.window_support import cells, texts

SILENT = ErrorInfo("HubSilentError", "The hub did not answer.")


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Command]:
    """Commands to workers, which are not started."""
    return remember_commands(monkeypatch)


@pytest.fixture
def controller(qtbot: QtBot, sent: list[Command]) -> Iterator[DownloadController]:
    made = DownloadController(SettingsStore(settings_path()))
    yield made
    made.shutdown()


@pytest.fixture
def page(qtbot: QtBot, controller: DownloadController) -> DownloadPage:
    widget = DownloadPage(controller)
    qtbot.addWidget(widget)
    widget.resize(1000, 900)
    widget.show()
    return widget


def test_words_are_searched_and_names_looked_up(
    page: DownloadPage, controller: DownloadController, sent: list[Command]
) -> None:
    page.field.edit.setText("qwen3 4b gguf")
    page.field.submit_button.click()
    assert controller.hub.state is HubState.SEARCHING
    assert "Searching for qwen3 4b gguf" in texts(page)
    controller.hub.stop()
    page.field.edit.setText("org/name:Q4_K_M")
    page.field.submit_button.click()
    assert sent == [SearchRepositories("qwen3 4b gguf"), LookUpRepository("org/name:Q4_K_M")]
    assert "Looking at org/name:Q4_K_M" in texts(page)


def test_results_are_opened_by_the_keyboard_and_gone_back_to(
    qtbot: QtBot, page: DownloadPage, controller: DownloadController, sent: list[Command]
) -> None:
    controller.hub.searched.emit(RESULTS)
    assert cells(page.results.table)[0] == [
        "Qwen/Qwen3-4B-GGUF", "120,000", "310", "apache-2.0", "2025-05-21"
    ]  # fmt: skip
    assert cells(page.results.table)[1][3] == "–, gated"
    assert page.results.table.hasFocus()
    qtbot.keyClick(page.results.table, Qt.Key.Key_Down)
    qtbot.keyClick(page.results.table, Qt.Key.Key_Return)
    assert sent == [LookUpRepository("meta-llama/Qwen3-4B-like")]
    controller.hub.found.emit(FOUND)
    page.repository.back_button.click()
    assert page.results.isVisible()
    assert not page.repository.isVisible()


def test_who_has_nothing_in_mind_is_given_words(
    page: DownloadPage, controller: DownloadController
) -> None:
    assert page.empty.isVisibleTo(page)
    page.empty.findChildren(QPushButton)[0].click()
    assert controller.hub.state is HubState.SEARCHING
    assert not page.empty.isVisibleTo(page)


def test_a_narrow_table_hides_columns_before_it_scrolls(
    qtbot: QtBot, page: DownloadPage, controller: DownloadController
) -> None:
    controller.hub.searched.emit(RESULTS)
    table = page.results.table
    head = table.horizontalHeader()
    page.show()
    for width, num_hidden in ((1100, 0), (560, 2), (1100, 0)):
        page.resize(width, 700)
        qtbot.waitUntil(lambda n=num_hidden: head.hiddenSectionCount() == n, timeout=5000)
        qtbot.waitUntil(lambda: head.length() <= table.viewport().width(), timeout=5000)
        assert head.hiddenSectionCount() == num_hidden


def test_nothing_found_says_so(page: DownloadPage, controller: DownloadController) -> None:
    controller.hub.searched.emit(replace(RESULTS, repositories=()))
    assert "huggingface.co has no model called “qwen3 4b gguf”" in texts(page)
    assert not page.results.open_button.isVisible()


def test_an_offer_shows_sizes_and_what_fits(page: DownloadPage) -> None:
    page._controller.hub.found.emit(FOUND)
    assert cells(page.repository.table) == [
        ["Qwen3-4B-Q8_0", "8.0 GiB", "–", "4.0 GiB", "700 tokens"],
        ["Qwen3-4B-Q4_K_M", "4.0 GiB", "–", "4.0 GiB", "9,000 tokens"],
    ]
    assert page.repository.download_button.text() == "Download (4.0 GiB)", "the best is chosen"
    assert "No NVIDIA driver found." in texts(page)
    assert page.repository.contexts.text() == (
        "Context by conversion: \n"
        "• Exact: 9,000 tokens (16,000 with an 8-bit KV cache)\n"
        "• 4 bits (W4): 12,000 tokens (22,000 with an 8-bit KV cache)\n"
        "• 3 bits (W3): 16,000 tokens"
    )


def test_another_model_can_be_chosen(
    qtbot: QtBot, page: DownloadPage, controller: DownloadController, sent: list[Command]
) -> None:
    controller.hub.found.emit(FOUND)
    qtbot.keyClick(page.repository.table, Qt.Key.Key_Up)
    page.repository.download_button.click()
    assert [entry.name for entry in controller.entries] == [LARGE.name]
    assert sent == [DownloadModel(FOUND.repo_id, "main", FOUND.commit, LARGE.main, 4 * GIB)]


def test_a_refused_model_cannot_be_fetched(page: DownloadPage) -> None:
    refused = replace(SMALL, is_refused=True, reason="Cohere is not implemented.")
    page._controller.hub.found.emit(replace(FOUND, models=(refused,), best=None))
    assert "Cohere is not implemented." in texts(page)
    assert not page.repository.download_button.isEnabled()


def test_progress_beyond_two_gigabytes_and_a_stall(
    page: DownloadPage, controller: DownloadController
) -> None:
    card = page.queue.cards[begin(controller)]
    tell(controller, RUNNING)
    assert card.progress.value() == 750
    assert card.status.text() == "3.0 GiB of 4.0 GiB · 47.7 MiB/s · 21 s left"
    tell(controller, STALLED)
    assert "stalled: no byte for 7.0 s; after 10 s" in card.status.text()
    assert "left" not in card.status.text()
    tell(controller, replace(RUNNING, files=SHARDS, note="a.example does not answer; b goes on."))
    assert "b goes on." in texts(page)
    card.file_list.button.click()
    tell(controller, replace(RUNNING, files=SHARDS))
    assert card.file_list.button.text() == "12 files, 2 complete"
    assert cells(card.files)[2] == [SHARDS[2].path, "1.0 GiB", "33 %", "comes"]
    tell(controller, replace(RUNNING, is_checking=True, eta_s=None))
    assert "checking what is here already" in card.status.text()


def test_what_has_arrived_can_be_converted_and_is_on_the_disk(
    qtbot: QtBot, page: DownloadPage, controller: DownloadController
) -> None:
    controller.hub.found.emit(FOUND)
    key = begin(controller)
    tell(controller, DownloadFinished(ARRIVED, 4 * GIB, GIB, 80.0))
    assert "Downloaded and verified" in texts(page)
    assert cells(page.repository.table)[1][2] == "100 %"
    with qtbot.waitSignal(page.convert_requested) as asked:
        page.queue.cards[key].convert_button.click()
    assert asked.args == [ARRIVED]


def test_a_look_up_that_fails_is_one_sentence(
    page: DownloadPage, controller: DownloadController
) -> None:
    controller.hub.submit("org/gone")
    controller.hub._link.event_received.emit(JobFailed(SILENT))
    assert "No answer about org/gone" in texts(page)
    assert SILENT.message in texts(page)
    assert not page.repository.isVisible()
    assert not page.token.isVisible()


def test_a_download_that_fails_offers_to_go_on_and_does_by_itself(
    page: DownloadPage, controller: DownloadController, sent: list[Command]
) -> None:
    card = page.queue.cards[begin(controller)]
    tell(controller, JobFailed(SILENT))
    assert card.resume_button.isVisible()
    assert SILENT.message in texts(page)
    controller._retry_timer.timeout.emit()
    assert controller.entries[0].state is QueueState.RUNNING
    assert len(sent) == 2


def test_the_queue_is_ordered_paused_and_emptied(
    page: DownloadPage, controller: DownloadController, sent: list[Command]
) -> None:
    controller.enqueue(FOUND, SMALL)
    controller.enqueue(FOUND, LARGE)
    first, second = (entry.key for entry in controller.entries)
    assert "1 waiting" in page.queue.title.text()
    page.queue.cards[second].sooner_button.click()
    assert [entry.key for entry in controller.entries] == [second, first]
    page.queue.cards[first].pause_button.click()
    tell(controller, WorkerStopped())
    states = {entry.key: entry.state for entry in controller.entries}
    assert states == {first: QueueState.PAUSED, second: QueueState.RUNNING}
    assert page.queue.cards[first].resume_button.isVisible()
    page.queue.cards[first].resume_button.click()
    assert controller.entries[1].state is QueueState.WAITING
    page.queue.cards[second].remove_button.click()
    tell(controller, WorkerStopped())
    assert [(e.key, e.state) for e in controller.entries] == [(first, QueueState.RUNNING)]
    page.queue.cards[first].remove_button.click()
    assert not page.queue.isVisible()


def test_the_queue_survives_the_program(
    page: DownloadPage, controller: DownloadController, qtbot: QtBot, sent: list[Command]
) -> None:
    controller.enqueue(FOUND, SMALL)
    controller.enqueue(FOUND, LARGE)
    controller.pause(controller.entries[1].key)
    tell(controller, RUNNING)
    again = DownloadController(SettingsStore(settings_path()))
    assert [entry.state for entry in again.entries] == [QueueState.WAITING, QueueState.PAUSED]
    sent.clear()
    again.start()
    assert sent == [DownloadModel(FOUND.repo_id, "main", FOUND.commit, SMALL.main, 4 * GIB)]
    again.shutdown()


def test_room_is_kept_for_the_whole_queue(
    page: DownloadPage, controller: DownloadController, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller.hub.found.emit(FOUND)
    monkeypatch.setattr("app.core.room.free_bytes", lambda _folder: 17 * GIB)
    controller.enqueue(FOUND, SMALL)  # 4 and 4 converted
    controller.enqueue(FOUND, LARGE)  # 8 and 4 more: 20
    assert [entry.name for entry in controller.entries] == [SMALL.name]
    assert "was not taken into the list" in texts(page)
    assert "needs 20.0 GiB (8.0 GiB for the files + 4.0 GiB for the queue before it" in texts(page)
    assert page.repository.isVisible()


def test_hubs_are_chosen_measured_and_added(
    page: DownloadPage, controller: DownloadController, sent: list[Command]
) -> None:
    page.hub_button.click()
    card = page.endpoints
    assert [row[:2] for row in cells(card.table)] == [
        ["https://huggingface.co", "first"],
        ["https://hf-mirror.com", "no"],
    ]
    card.table.selectRow(1)
    card.mirror_button.click()
    assert cells(card.table)[1][1] == "stands in"
    assert "and 1 more" in page.hub_button.text()
    card.edit.setText("not an address")
    card.add_button.click()
    assert "is not the address of a hub" in card.problem.text()
    card.edit.setText("http://127.0.0.1:99/")
    card.add_button.click()
    assert controller.hub.asked_endpoints[2] == "http://127.0.0.1:99"
    card.probe_button.click()
    assert sent == [ProbeEndpoints(controller.hub.endpoints)]
    for endpoint in controller.hub.endpoints:
        problem = "no" if "99" in endpoint else ""
        assert not card.probe_button.isEnabled()
        event = EndpointProbed(endpoint, 0.2, 5e6, problem)
        controller.hub._link.event_received.emit(event)
    assert card.probe_button.isEnabled()
    assert [row[2] for row in cells(card.table)] == [
        "4.8 MiB/s, after 0.2 s",
        "4.8 MiB/s, after 0.2 s",
        "no answer",
    ]
    card.table.selectRow(1)
    card.first_button.click()
    assert SettingsStore(settings_path()).values.hub_endpoint == "https://hf-mirror.com"
    assert "hf-mirror.com" in page.hub_button.text()


def test_a_damaged_list_is_set_aside(qtbot: QtBot, sent: list[Command]) -> None:
    from app.core.paths import downloads_path

    path: Path = downloads_path()
    path.write_text("{", encoding="utf-8")
    made = DownloadController(SettingsStore(settings_path()))
    assert made.entries == ()
    assert "was damaged" in made.note
    assert path.with_suffix(".corrupt.json").read_text(encoding="utf-8") == "{"
    made.shutdown()
