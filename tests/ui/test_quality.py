"""After a conversion: where something was lost, what that does to a text, and the saved report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.controllers.conversion import ConversionController
from app.controllers.conversion_job import ConversionOptions, ConversionState
from app.controllers.report_saver import ReportSaver
from app.core.conversion_events import (
    ConversionProgressed,
    EvaluationProgressed,
    PartReport,
)
from app.core.events import ErrorInfo
from app.ui.dialogs.report_dialog import ReportDialog
from app.ui.pages.convert_page import ConvertPage
from app.ui.widgets.error_chart import ErrorChart
from tests.ui.conversion_samples import JOB, OWN, PLAN, REPORT, W3, W8
from tests.ui.window_support import cells, texts

TIMEOUT_MS = 60_000


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
    controller.job_started.emit(JOB)
    controller.planned.emit(PLAN)
    return widget


def test_the_worst_layers_come_first(page: ConvertPage, controller: ConversionController) -> None:
    controller.finished.emit(REPORT)
    assert cells(page.errors.parts) == [
        ["lm_head", "requantized", "7.1 %", "7.1 %", "9.0 MiB"],
        ["layer_00", "exact", "0", "0", "1.0 MiB"],
    ]
    assert page.errors.chart.isVisible()
    assert "Largest in lm_head: 7.1 %" in page.errors.chart.accessibleDescription()


def test_errors_are_summed_up_by_path(page: ConvertPage, controller: ConversionController) -> None:
    controller.finished.emit(REPORT)
    assert cells(page.errors.paths) == [
        ["exact", "1", "0", "0", "1.0 MiB"],
        ["requantized", "1", "7.1 %", "7.1 %", "9.0 MiB"],
    ]


def test_the_tables_can_be_copied(page: ConvertPage, controller: ConversionController) -> None:
    controller.finished.emit(REPORT)
    page.errors.copy_button.click()
    copied = QApplication.clipboard().text()
    assert "| lm_head | requantized | 7.1 % | 7.1 % | 9.0 MiB |" in copied
    assert "IQ3_S" not in copied, "the tensors are folded"
    page.errors.tensors_button.click()
    page.errors.copy_button.click()
    assert "| lm_head | IQ3_S |" in QApplication.clipboard().text()


def test_nothing_lost_is_said_without_a_chart(
    page: ConvertPage, controller: ConversionController
) -> None:
    controller.finished.emit(replace(REPORT, lossless=True, rel_err_max=0.0))
    assert "No error anywhere" in texts(page.errors)
    assert not page.errors.chart.isVisible()
    assert not page.errors.parts.isVisible()


def test_the_chart_tells_each_part(qtbot: QtBot) -> None:
    chart = ErrorChart()
    qtbot.addWidget(chart)
    chart.resize(400, 132)
    assert chart.describe_at(10) == ""
    chart.set_parts([PartReport(f"layer_0{i}", ("requant",), 0.01, 0.02 * i, 1) for i in range(4)])
    assert chart.describe_at(150) == "layer_01: mean 1 %, largest 2 %"
    assert chart.describe_at(400) == "layer_03: mean 1 %, largest 6 %"
    before = chart.grab().toImage()
    chart.set_parts([PartReport(f"layer_0{i}", ("requant",), 0.0, 0.01, 1) for i in range(4)])
    assert chart.grab().toImage() != before


def test_grids_stand_side_by_side_with_the_source(
    page: ConvertPage, controller: ConversionController
) -> None:
    controller.finished.emit(replace(REPORT, evaluations=(OWN, W8, W3)))
    assert cells(page.evaluation.table) == [
        ["Source", "6.0 GiB", "–", "15.90", "–", "–"],
        ["This one: 4 bits (W4)", "84.0 MiB", "128 MiB", "16.23", "0.031", "91.3 %"],
        ["8 bits (W8)", "140 MiB", "128 MiB", "15.91", "0.00042", "91.3 %"],
        ["3 bits (W3)", "70.0 MiB", "128 MiB", "22.50", "0.31", "91.3 %"],
    ]
    assert "1,533 tokens" in texts(page.evaluation)
    assert [button.text() for button in page.evaluation.choice_buttons] == [
        "Convert to W8 instead",
        "Convert to W3 instead",
    ]


def test_what_is_proven_is_not_called_measured(
    page: ConvertPage, controller: ConversionController
) -> None:
    proven = replace(OWN, proven=True, kl_mean=0.0, top1_agreement=1.0)
    controller.finished.emit(replace(REPORT, evaluations=(proven,)))
    assert cells(page.evaluation.table)[1][4:] == ["0, same bits", "100.0 %"]


def test_another_grid_can_be_chosen(
    page: ConvertPage, controller: ConversionController, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(controller, "enqueue", lambda *args, **kw: asked.append((*args, kw)))
    controller.finished.emit(replace(REPORT, evaluations=(OWN, W8, W3)))
    controller.state_changed.emit(ConversionState.IDLE)
    page.evaluation.choice_buttons[1].click()
    options = ConversionOptions("w3", 128, allow_lossy=True, evaluate=True)
    assert asked == [([JOB.source], options, {"overwrite": True, "output": JOB.output})]


def test_a_finished_conversion_is_measured_afterwards(
    page: ConvertPage, controller: ConversionController, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(controller, "evaluate", lambda *args: asked.append(args))
    controller.finished.emit(REPORT)
    controller.state_changed.emit(ConversionState.IDLE)
    assert not page.evaluation.table.isVisible()
    assert "while you still have the source" in texts(page.evaluation)
    page.evaluation.compare_button.click()
    assert asked == [(JOB, ("w8", "w3"))]
    controller.state_changed.emit(ConversionState.EVALUATING)
    assert page.progress.isVisible()
    assert not page.evaluation.compare_button.isEnabled()
    controller.evaluation_progressed.emit(EvaluationProgressed("this", 768, 1536))
    assert "This conversion… 50 %" in texts(page.progress)
    assert "768 of 1,536 tokens" in texts(page.progress)
    progress = ConversionProgressed("layer 1", 1, 4, 1, 4, 1.0, compared_grid="w3")
    controller.progressed.emit(progress)
    assert "Converting to compare: 3 bits (W3)… 25 %" in texts(page.progress)
    controller.evaluated.emit((OWN, W8, W3))
    assert not page.progress.isVisible()
    assert len(cells(page.evaluation.table)) == 4
    assert page.report.isVisible()


def test_a_measurement_that_fails_leaves_the_report(
    page: ConvertPage, controller: ConversionController
) -> None:
    controller.finished.emit(REPORT)
    controller.evaluation_failed.emit(ErrorInfo("InvalidSourceError", "The source is gone."))
    assert page.evaluation.problem.text() == "The source is gone."
    assert page.report.isVisible()
    assert not page.progress.isVisible()
    controller.evaluation_cancelled.emit()
    assert page.report.isVisible()


def test_the_report_is_saved_as_markdown_and_json(
    qtbot: QtBot, page: ConvertPage, controller: ConversionController, tmp_path: Path
) -> None:
    checkpoint, target = tmp_path / "模型", tmp_path / "my report.md"
    checkpoint.mkdir()
    (checkpoint / "conversion_report.md").write_text("# Conversion\n", encoding="utf-8")
    (checkpoint / "conversion_report.json").write_text('{"grid": "w4"}', encoding="utf-8")
    controller.finished.emit(replace(REPORT, output=checkpoint))
    page.report.save_button.click()
    dialog = page.findChild(ReportDialog)
    with qtbot.waitSignal(controller.reports.saved, timeout=TIMEOUT_MS):
        dialog.path_chosen.emit(target)
    dialog.close()
    assert target.read_text(encoding="utf-8") == "# Conversion\n"
    assert json.loads(target.with_suffix(".json").read_text(encoding="utf-8")) == {
        "conversion": {"grid": "w4"}
    }
    assert "my report.json" in page.report.saved.text()


def test_a_saved_report_has_the_evaluation_too(qtbot: QtBot, tmp_path: Path) -> None:
    for stem, content in (("conversion_report", {"grid": "w4"}), ("evaluation", [1])):
        (tmp_path / f"{stem}.md").write_text(f"# {stem}\n", encoding="utf-8")
        (tmp_path / f"{stem}.json").write_text(json.dumps(content), encoding="utf-8")
    saver = ReportSaver()
    with qtbot.waitSignal(saver.saved, timeout=TIMEOUT_MS):
        saver.save(tmp_path, tmp_path / "v1.0 report")
    saver.shutdown()
    text = (tmp_path / "v1.0 report.md").read_text(encoding="utf-8")
    assert text == "# conversion_report\n\n# evaluation\n"
    saved = json.loads((tmp_path / "v1.0 report.json").read_text(encoding="utf-8"))
    assert saved == {"conversion": {"grid": "w4"}, "evaluations": [1]}


def test_a_report_that_cannot_be_saved_says_so(
    qtbot: QtBot, page: ConvertPage, controller: ConversionController, tmp_path: Path
) -> None:
    controller.finished.emit(REPORT)
    with qtbot.waitSignal(controller.reports.failed, timeout=TIMEOUT_MS):
        controller.reports.save(tmp_path / "gone", tmp_path / "report.md")
    assert page.report.saved.text().startswith("The report of gone could not be saved: ")
    assert not (tmp_path / "report.md").exists()
