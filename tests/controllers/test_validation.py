"""Validations over a real child process with a fake validator."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.controllers.validation import ValidationController, ValidationState

FAKE = "fake_validator:create_service"
TIMEOUT_MS = 120_000


class Journal:
    """Everything the controller said, one word each."""

    def __init__(self, controller: ValidationController) -> None:
        self.lines: list[str] = []
        note = self.lines.append
        controller.begun.connect(lambda source: note(f"begun {source}"))
        controller.started.connect(lambda event: note(f"started {event.name}"))
        controller.check_started.connect(lambda event: note(f"row {event.name}"))
        controller.check_progressed.connect(lambda event: note(event.step))
        controller.check_finished.connect(lambda event: note(f"ended {event.check.name}"))
        controller.differences_found.connect(lambda event: note("differences"))
        controller.prompts_rendered.connect(lambda event: note("prompts"))
        controller.finished.connect(lambda report: note(f"report {report.name}"))
        controller.failed.connect(lambda error: note(f"failed {error.kind}"))
        controller.cancelled.connect(lambda: note("cancelled"))


@pytest.fixture
def controller(qtbot: QtBot) -> Iterator[ValidationController]:
    made = ValidationController(service=FAKE)
    yield made
    made.shutdown()


def wait_for_end(qtbot: QtBot, controller: ValidationController) -> None:
    qtbot.waitUntil(lambda: controller.state is ValidationState.IDLE, timeout=TIMEOUT_MS)


def test_everything_is_told_in_order_and_the_memory_given_back(
    qtbot: QtBot, controller: ValidationController
) -> None:
    journal = Journal(controller)
    controller.validate("tiny")
    assert controller.state is ValidationState.RUNNING
    wait_for_end(qtbot, controller)
    assert journal.lines == [
        "begun tiny",
        "started tiny",
        "row first",
        "layer 1 of 2",
        "ended first",
        "differences",
        "prompts",
        "ended second",
        "report tiny",
    ]
    qtbot.waitUntil(lambda: not controller.is_worker_running, timeout=TIMEOUT_MS)


@pytest.mark.parametrize(
    ("source", "last"), [("bad", "failed UsageError"), ("die", "failed WorkerError")]
)
def test_a_failure_is_told_and_the_next_one_runs(
    qtbot: QtBot, controller: ValidationController, source: str, last: str
) -> None:
    journal = Journal(controller)
    controller.validate(source)
    wait_for_end(qtbot, controller)
    assert journal.lines[-1] == last
    controller.validate("tiny")
    wait_for_end(qtbot, controller)
    assert journal.lines[-1] == "report tiny"


def test_a_cancel_ends_it(qtbot: QtBot, controller: ValidationController) -> None:
    journal = Journal(controller)
    controller.validate("slow")
    qtbot.waitUntil(lambda: "row first" in journal.lines, timeout=TIMEOUT_MS)
    controller.cancel()
    assert controller.state is ValidationState.CANCELLING
    wait_for_end(qtbot, controller)
    assert journal.lines[-1] == "cancelled"


def test_another_source_replaces_the_one_that_runs(
    qtbot: QtBot, controller: ValidationController
) -> None:
    journal = Journal(controller)
    controller.validate("slow")
    qtbot.waitUntil(lambda: "row first" in journal.lines, timeout=TIMEOUT_MS)
    controller.validate("tiny")
    qtbot.waitUntil(lambda: journal.lines[-1] == "report tiny", timeout=TIMEOUT_MS)
    assert journal.lines.index("cancelled") < journal.lines.index("begun tiny")


def test_closing_ends_what_runs(qtbot: QtBot) -> None:
    controller = ValidationController(service=FAKE)
    journal = Journal(controller)
    controller.validate("slow")
    qtbot.waitUntil(lambda: "layer 1 of 2" in journal.lines, timeout=TIMEOUT_MS)
    controller.shutdown()
    assert journal.lines[-1] == "layer 1 of 2"


def test_a_report_is_saved_as_markdown_and_json(
    qtbot: QtBot, controller: ValidationController, tmp_path: Path
) -> None:
    reports: list[object] = []
    controller.finished.connect(reports.append)
    controller.validate("tiny")
    wait_for_end(qtbot, controller)
    with qtbot.waitSignal(controller.reports.saved, timeout=TIMEOUT_MS):
        controller.save(reports[0], tmp_path / "报告.md")  # type: ignore[arg-type]
    assert (tmp_path / "报告.md").read_text(encoding="utf-8") == "# tiny\n"
    assert "convert" in (tmp_path / "报告.json").read_text(encoding="utf-8")
    with qtbot.waitSignal(controller.reports.failed, timeout=TIMEOUT_MS) as failed:
        controller.save(reports[0], tmp_path / "gone" / "x.md")  # type: ignore[arg-type]
    assert "could not be saved" in failed.args[0].message
