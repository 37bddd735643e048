"""The Download page shows what the controller tells, whatever comes of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.controllers.download import DownloadController, DownloadState
from app.core.download_events import (
    DownloadFinished,
    DownloadProgressed,
    OfferedModel,
    RepositoryFound,
)
from app.core.events import ErrorInfo
from app.ui.pages.download_page import DownloadPage
from tests.ui.window_support import cells, texts

GIB = 1 << 30
SMALL = OfferedModel(
    "Big-Q4_K_M", "Big-Q4_K_M.gguf", 4 * GIB, 0, False, "It runs.", "LlamaForCausalLM", "exact"
)
SMALL = replace(SMALL, max_context=9000, converted_bytes=4 * GIB)
LARGE = replace(SMALL, name="Big-Q8_0", num_bytes=8 * GIB, max_context=700)
FOUND = RepositoryFound(
    "org/Big-GGUF", "main", "0" * 40, "apache-2.0", True, 120_000, "No driver.", (LARGE, SMALL)
)
ERROR = ErrorInfo("ResourceError", "The hub did not answer.")


@pytest.fixture
def controller(qtbot: QtBot) -> Iterator[DownloadController]:
    made = DownloadController()
    yield made
    made.shutdown()


@pytest.fixture
def page(qtbot: QtBot, controller: DownloadController) -> DownloadPage:
    widget = DownloadPage(controller)
    qtbot.addWidget(widget)
    widget.resize(1000, 900)
    widget.show()
    return widget


def test_an_offer_shows_sizes_and_what_fits(page: DownloadPage) -> None:
    page._controller.found.emit(FOUND)
    assert cells(page.repository.table) == [
        ["Big-Q8_0", "8.0 GiB", "–", "4.0 GiB", "700 tokens"],
        ["Big-Q4_K_M", "4.0 GiB", "–", "4.0 GiB", "9,000 tokens"],
    ]
    # The largest that leaves room for a conversation is chosen.
    assert page.repository.download_button.text() == "Download (4.0 GiB)"
    assert "No driver." in texts(page)


def test_another_model_can_be_chosen(
    qtbot: QtBot, page: DownloadPage, controller: DownloadController
) -> None:
    controller.found.emit(FOUND)
    page.repository.table.setFocus()
    qtbot.keyClick(page.repository.table, Qt.Key.Key_Up)
    with qtbot.waitSignal(page.repository.download_requested) as asked:
        page.repository.download_button.click()
    assert asked.args == [LARGE]


def test_a_refused_model_cannot_be_fetched(page: DownloadPage) -> None:
    refused = replace(SMALL, is_refused=True, reason="Cohere is not implemented.")
    page._controller.found.emit(replace(FOUND, models=(refused,)))
    assert "Cohere is not implemented." in texts(page)
    assert not page.repository.download_button.isEnabled()


def test_progress_beyond_two_gigabytes_and_a_stall(
    page: DownloadPage, controller: DownloadController
) -> None:
    controller.found.emit(FOUND)
    controller.begun.emit(SMALL)
    controller._state = DownloadState.DOWNLOADING
    controller.progressed.emit(DownloadProgressed(3 * GIB, 4 * GIB, 50e6, 0.1, False, 21.0))
    assert page.download.progress.value() == 750
    assert "3.0 GiB of 4.0 GiB" in texts(page)
    assert "left" in page.download.status.text()
    controller.progressed.emit(DownloadProgressed(3 * GIB, 4 * GIB, 0.0, 7.0, True, None))
    assert "stalled" in page.download.status.text()
    assert "left" not in page.download.status.text()
    controller._state = DownloadState.IDLE


def test_what_has_arrived_can_be_converted(
    qtbot: QtBot, page: DownloadPage, controller: DownloadController
) -> None:
    controller.found.emit(FOUND)
    controller.begun.emit(SMALL)
    controller.finished.emit(DownloadFinished(Path("/hub/Big.gguf"), 4 * GIB, GIB, 80.0))
    assert "Downloaded and verified" in texts(page)
    with qtbot.waitSignal(page.convert_requested) as asked:
        page.download.convert_button.click()
    assert asked.args == [Path("/hub/Big.gguf")]


def test_a_look_up_that_fails_is_one_sentence(
    page: DownloadPage, controller: DownloadController
) -> None:
    controller.looking.emit("org/gone")
    controller.failed.emit(ERROR)
    assert "org/gone was not downloaded" in texts(page)
    assert ERROR.message in texts(page)
    assert not page.repository.isVisible()


def test_a_download_that_fails_offers_to_go_on(
    page: DownloadPage, controller: DownloadController
) -> None:
    controller.found.emit(FOUND)
    controller.begun.emit(SMALL)
    controller.failed.emit(ERROR)
    assert page.download.resume_button.isVisible()
    assert "What has arrived stays" in texts(page)
