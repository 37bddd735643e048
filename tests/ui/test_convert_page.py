"""The Convert page shows what the controller tells, whatever comes of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from app.controllers.conversion import ConversionController
from app.controllers.conversion_job import ConversionState
from app.core.events import ErrorInfo
from app.ui.pages.convert_page import ConvertPage
from app.ui.widgets.evaluation_card import EvaluationCard
from app.ui.widgets.page_column import PageColumn
from app.ui.widgets.plan_card import PlanCard
from app.ui.widgets.report_card import ReportCard
from tests.ui.conversion_samples import JOB, OWN, PLAN, PROGRESS, REPORT, W3, W8
from tests.ui.window_support import cells, texts


@pytest.fixture
def controller(qtbot: QtBot, tmp_path: Path) -> Iterator[ConversionController]:
    made = ConversionController(tmp_path)
    yield made
    made.shutdown()


@pytest.fixture
def page(qtbot: QtBot, controller: ConversionController) -> ConvertPage:
    widget = ConvertPage(controller, has_starter=True)
    qtbot.addWidget(widget)
    widget.resize(1000, 800)
    widget.show()
    return widget


def test_empty_page_says_what_to_do(page: ConvertPage) -> None:
    assert page.drop_zone.isVisible()
    assert "Drop a .gguf file" in texts(page)


def test_plan_is_shown_as_a_table(
    qtbot: QtBot, page: ConvertPage, controller: ConversionController
) -> None:
    controller.job_started.emit(JOB)
    assert "Tiny-1B.Q4_0.gguf" in texts(page)
    controller.planned.emit(PLAN)
    qtbot.waitUntil(lambda: "GGUF" in texts(page), timeout=20_000)
    shown = texts(page)
    for expected in (
        "GGUF",
        "LlamaForCausalLM",
        "1.2 B parameters",
        "16 layers",
        "6.0 GiB → 5.0 GiB",
        "7.0 GiB of memory",
    ):
        assert expected in shown
    assert PLAN.notes[0] in shown
    assert cells(page.plan.table) == [
        ["Q4_0", "int4 sym g32", "exact", "112", "700 MiB", "700 MiB"],
        ["IQ3_S", "int4 sym g128", "requantized", "1", "10.0 MiB", "12.0 MiB"],
    ]


@pytest.mark.parametrize("width", range(520, 1000, 40))
def test_a_narrow_plan_keeps_what_becomes_of_the_size(qtbot: QtBot, width: int) -> None:
    card = PlanCard()
    qtbot.addWidget(card)
    card.show_plan(PLAN)
    for at in (1000, width, 1000):
        card.resize(at, 300)
        card.show()
        QApplication.processEvents()
        table = card.table
        assert table.horizontalHeader().length() <= table.viewport().width()
        assert table.horizontalScrollBar().maximum() == 0
        assert at not in (520, 1000) or table.isColumnHidden(3) == (at == 520)
        assert not table.isColumnHidden(5)


def test_a_narrow_table_of_grids_keeps_perplexity_and_kl(qtbot: QtBot) -> None:
    card = EvaluationCard()
    qtbot.addWidget(card)
    card.show_report(replace(REPORT, evaluations=(OWN, W8, W3)))
    card.resize(516, 600)
    card.show()
    QApplication.processEvents()
    table = card.table
    assert table.isColumnHidden(2)
    assert not any(table.isColumnHidden(column) for column in (0, 1, 3, 4))
    assert table.horizontalHeader().length() <= table.viewport().width()
    assert "128 MiB" in table.text()


@pytest.mark.parametrize(("width", "num_columns"), [(864, 4), (516, 2)])
def test_tiles_of_a_report_are_of_one_width(qtbot: QtBot, width: int, num_columns: int) -> None:
    card = ReportCard()
    qtbot.addWidget(card)
    card.show_report(REPORT)
    card.resize(width, 600)
    card.show()
    qtbot.waitUntil(lambda: len({tile.x() for tile in card.tiles}) == num_columns)
    widths = [tile.width() for tile in card.tiles]
    assert max(widths) - min(widths) <= 1
    assert sum(widths[:num_columns]) < card.width() == width


@pytest.mark.parametrize("width", [500, 910, 924, 930, 944, 1400])
def test_a_scroll_bar_does_not_move_the_column(qtbot: QtBot, width: int) -> None:
    page = PageColumn()
    qtbot.addWidget(page)
    first, tall = QLabel("first"), QLabel("tall")
    page.rows.addWidget(first)
    page.rows.addWidget(tall)
    page.close_rows()
    page.resize(width, 300)
    page.show()
    QApplication.processEvents()
    before = first.mapTo(page, QPoint(0, 0)).x()
    tall.setFixedHeight(900)
    qtbot.waitUntil(lambda: page.verticalScrollBar().maximum() > 0)
    QApplication.processEvents()
    assert page.viewport().width() < width
    assert abs(first.mapTo(page, QPoint(0, 0)).x() - before) <= 1


def test_progress_tells_share_speed_and_time_left(
    page: ConvertPage, controller: ConversionController
) -> None:
    controller.job_started.emit(JOB)
    controller.planned.emit(PLAN)
    controller.progressed.emit(PROGRESS)
    shown = texts(page.progress)
    for expected in ("50 %", "layer 7", "mlp.up_proj", "102 MiB/s", "30 s left"):
        assert expected in shown
    assert page.progress.strip.accessibleDescription() == "8 of 18 parts written"


def test_report_is_shown_with_every_tensor_on_demand(
    qtbot: QtBot, page: ConvertPage, controller: ConversionController
) -> None:
    controller.job_started.emit(JOB)
    controller.planned.emit(PLAN)
    controller.finished.emit(REPORT)
    qtbot.waitUntil(lambda: "peak memory" in texts(page.report), timeout=20_000)
    shown = texts(page.report)
    for expected in ("112", "tensors requantized", "7.1 %", "13 s", "800 MiB"):
        assert expected in shown
    assert "Lossless" not in shown
    assert not page.errors.tensors.isVisible()
    page.errors.tensors_button.click()
    assert [row[0] for row in cells(page.errors.tensors)] == ["layers.0.q_proj", "lm_head"]


def test_tensors_are_sorted_by_their_numbers(
    page: ConvertPage, controller: ConversionController
) -> None:
    controller.finished.emit(REPORT)
    page.errors.tensors_button.click()
    page.errors.tensors.sortByColumn(4, Qt.SortOrder.DescendingOrder)
    assert [row[4] for row in cells(page.errors.tensors)] == ["7.1 %", "0"]


def test_the_arrow_of_a_sorted_column_stands_at_its_title(
    page: ConvertPage, controller: ConversionController
) -> None:
    """Not at the far end of the column, before the title of the next one."""
    controller.finished.emit(REPORT)
    head = page.errors.parts.horizontalHeader()
    width = head.sectionSize(0)
    pictures = []
    for column in (-1, 0):
        page.errors.parts.sortByColumn(column, Qt.SortOrder.AscendingOrder)
        QApplication.processEvents()
        picture = head.grab().toImage()
        halves = (picture.copy(x, 0, width // 2, head.height()) for x in (0, width // 2))
        pictures.append(tuple(halves))
    (title, end), (title_sorted, end_sorted) = pictures
    assert title != title_sorted
    assert end == end_sorted


def test_lossless_is_said_only_of_lossless(
    page: ConvertPage, controller: ConversionController
) -> None:
    controller.finished.emit(replace(REPORT, lossless=True, rel_err_max=0.0))
    assert "Lossless" in page.report.badge.text()
    controller.finished.emit(REPORT)
    assert "Lossless" not in page.report.badge.text()


def test_chat_button_names_the_checkpoint(
    qtbot: QtBot, page: ConvertPage, controller: ConversionController
) -> None:
    controller.job_started.emit(JOB)
    controller.finished.emit(REPORT)
    with qtbot.waitSignal(page.chat_requested) as blocker:
        page.report.chat_button.click()
    assert blocker.args == [JOB.output]


def test_failure_is_one_sentence_with_details_to_copy(
    page: ConvertPage, controller: ConversionController
) -> None:
    controller.job_started.emit(JOB)
    controller.failed.emit(ErrorInfo("InvalidSourceError", "It is truncated.", "offset 4096"))
    assert page.error.isVisible()
    assert page.drop_zone.isVisible(), "the next file can be dropped or picked at once"
    assert "It is truncated." in texts(page.error)
    page.error.copy_button.click()
    copied = QApplication.clipboard().text()
    assert "It is truncated." in copied
    assert "offset 4096" in copied


def test_existing_output_is_a_choice_not_a_failure(
    qtbot: QtBot, page: ConvertPage, controller: ConversionController
) -> None:
    controller.job_started.emit(JOB)
    controller.failed.emit(ErrorInfo("OutputExistsError", "It is there already."))
    assert "in the library already" in texts(page.error)
    with qtbot.waitSignal(page.chat_requested) as blocker:
        page.error.chat_button.click()
    assert blocker.args == [JOB.output]


def test_cancelled_is_no_failure(page: ConvertPage, controller: ConversionController) -> None:
    controller.job_started.emit(JOB)
    controller.cancelled.emit(False)
    assert "nothing was left behind" in texts(page.error)


def test_cancelling_disables_the_button(
    page: ConvertPage, controller: ConversionController
) -> None:
    controller.job_started.emit(JOB)
    assert page.progress.cancel_button.isEnabled()
    controller.state_changed.emit(ConversionState.CANCELLING)
    assert not page.progress.cancel_button.isEnabled()


def test_waiting_sources_are_named(page: ConvertPage, controller: ConversionController) -> None:
    controller.queue_changed.emit((JOB,))
    assert "Waiting: Tiny-1B.Q4_0.gguf" in texts(page)
    controller.queue_changed.emit(())
    assert "Waiting" not in texts(page)
