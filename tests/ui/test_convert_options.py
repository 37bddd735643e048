"""Before a conversion: what is recommended, what else there is, and what was interrupted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.controllers.conversion import ConversionController
from app.controllers.conversion_job import ConversionJob, ConversionOptions, ConversionState
from app.core.conversion_events import ConversionPlan, MeasuringProgressed
from app.core.events import ErrorInfo
from app.ui.grid_labels import GRIDS, grid_help
from app.ui.pages.convert_page import ConvertPage
from tests.ui.conversion_samples import JOB, PLAN
from tests.ui.window_support import texts

WAITING = replace(JOB, starts_at_once=False)


class Asked:
    """What the page asked of the controller, which does nothing."""

    def __init__(self, controller: ConversionController, patch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[str, object]] = []
        for name in ("replan", "start", "start_all", "cancel", "resume", "discard_parts"):
            patch.setattr(controller, name, self._recorder(name))

    def _recorder(self, name: str) -> object:
        def record(*args: object, **options: object) -> None:
            self.calls.append((name, args[0] if args else options))

        return record


@pytest.fixture
def controller(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ConversionController]:
    made = ConversionController(tmp_path)
    yield made
    made.shutdown()


@pytest.fixture
def asked(controller: ConversionController, monkeypatch: pytest.MonkeyPatch) -> Asked:
    return Asked(controller, monkeypatch)


@pytest.fixture
def page(qtbot: QtBot, asked: Asked, controller: ConversionController) -> ConvertPage:
    widget = ConvertPage(controller, has_starter=True)
    qtbot.addWidget(widget)
    widget.resize(1000, 800)
    widget.show()
    return widget


def plan(
    page: ConvertPage,
    controller: ConversionController,
    plan: ConversionPlan = PLAN,
    job: ConversionJob = WAITING,
) -> None:
    """The controller has planned a job that waits for the user."""
    controller._current = job
    controller._state = ConversionState.PLANNED
    controller.job_started.emit(job)
    controller.planned.emit(plan)


def test_what_is_recommended_is_one_click(
    page: ConvertPage, controller: ConversionController, asked: Asked
) -> None:
    plan(page, controller, replace(PLAN, grid="exact"))
    shown = texts(page.options)
    assert "Recommended: Exact" in shown
    assert "5.0 GiB on the disk" in shown
    assert "about 7.0 GiB of memory with 4,096 tokens" in shown
    assert page.plan.isVisible()
    assert not page.options.choice.isVisible(), "other ways are folded away"
    page.options.convert_button.click()
    assert asked.calls == [("start", ConversionOptions())]


def test_what_a_job_was_queued_with_is_what_is_converted(
    page: ConvertPage, controller: ConversionController, asked: Asked
) -> None:
    """The button of a shortage queues 3 bits: they were planned, and 4 converted."""
    wanted = ConversionOptions("w3", 64, allow_lossy=True, evaluate=True, compare=("w8",))
    plan(page, controller, replace(PLAN, grid="w3"), replace(WAITING, options=wanted))
    assert "3 bits (W3)" in texts(page.options)
    page.options.convert_button.click()
    ((name, started),) = asked.calls
    assert (name, started) == ("start", replace(wanted, compare=("w8", "w4")))
    plan(page, controller)
    page.options.convert_button.click()
    assert asked.calls[-1] == ("start", ConversionOptions())


def test_what_is_tried_again_is_the_same(
    page: ConvertPage, controller: ConversionController, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Into the same folder: a W3 beside another checkpoint is not to take its place."""
    queued: list[dict[str, object]] = []
    monkeypatch.setattr(
        controller,
        "enqueue",
        lambda sources, options, **named: queued.append({"options": options, **named}),
    )
    job = replace(WAITING, options=ConversionOptions("w3"), output=Path("/library/Tiny-1B-w3"))
    controller.job_started.emit(job)
    page.error.retry_requested.emit()
    page.error.overwrite_requested.emit()
    assert [again["overwrite"] for again in queued] == [False, True]
    for again in queued:
        assert again["options"] == job.options
        assert again["output"] == job.output
        assert again["start"] is False


def test_every_grid_is_offered_with_a_sentence(
    page: ConvertPage, controller: ConversionController
) -> None:
    plan(page, controller)
    page.options.more.button.click()
    shown = texts(page.options.choice)
    assert len(GRIDS) == 7
    for grid in GRIDS:
        assert page.options.choice.grids[grid].isVisible()
        assert grid_help(grid) in shown
        assert grid_help(grid).endswith(".")


def test_another_grid_is_planned_before_it_can_be_started(
    page: ConvertPage, controller: ConversionController, asked: Asked
) -> None:
    plan(page, controller)
    page.options.choice.grids["w3"].click()
    page.options.choice.group_sizes[64].click()
    assert asked.calls == [
        ("replan", ConversionOptions("w3")),
        ("replan", ConversionOptions("w3", 64)),
    ]
    assert not page.options.convert_button.isEnabled()
    controller.planned.emit(replace(PLAN, grid="w3", output_bytes=3 << 30))
    assert page.options.convert_button.isEnabled()
    assert "3 bits (W3)" in texts(page.options)
    assert "3.0 GiB on the disk" in texts(page.options)


def test_group_sizes_are_offered_only_where_they_matter(
    page: ConvertPage, controller: ConversionController
) -> None:
    plan(page, controller)
    sizes = page.options.choice.group_sizes
    page.options.choice.grids["exact"].click()
    assert not sizes[64].isEnabled()
    page.options.choice.grids["w4"].click()
    assert sizes[64].isEnabled()


def test_a_budget_belongs_to_one_grid_and_may_be_refused(
    page: ConvertPage, controller: ConversionController, asked: Asked
) -> None:
    plan(page, controller)
    page.options.more.button.click()
    choice = page.options.choice
    assert not choice.budget.isVisible()
    choice.grids["w3w4"].click()
    assert choice.budget.isVisible()
    choice.budget.setValue(20)
    assert asked.calls[-1] == ("replan", ConversionOptions("w3w4", vram_budget=20 << 20))
    controller.measured.emit(MeasuringProgressed(1_200, 21_000))
    assert "1,200 of 21,000" in texts(page.options)
    controller.plan_refused.emit(ErrorInfo("ResourceError", "The budget cannot be met."))
    assert page.options.problem.text() == "The budget cannot be met."
    assert page.options.isVisible()
    assert not page.options.convert_button.isEnabled()
    choice.grids["w4"].click()
    assert not page.options.problem.isVisible()
    assert asked.calls[-1] == ("replan", ConversionOptions("w4"))


def test_measuring_is_asked_for_beforehand(
    page: ConvertPage, controller: ConversionController, asked: Asked
) -> None:
    plan(page, controller)
    page.options.choice.grids["w4"].click()
    controller.planned.emit(replace(PLAN, grid="w4"))
    page.options.compare.click()
    assert page.options.evaluate.isChecked(), "what is compared is measured"
    page.options.convert_button.click()
    options = ConversionOptions("w4", evaluate=True, compare=("w8", "w3"))
    assert asked.calls[-1] == ("start", options)


def test_all_that_wait_can_be_converted_the_same_way(
    page: ConvertPage, controller: ConversionController, asked: Asked
) -> None:
    plan(page, controller)
    assert not page.options.convert_all_button.isVisible()
    controller.queue_changed.emit((JOB, JOB))
    assert page.options.convert_all_button.text() == "Convert all 3"
    page.options.convert_all_button.click()
    assert asked.calls == [("start_all", ConversionOptions())]


def test_another_source_begins_with_what_is_recommended(
    page: ConvertPage, controller: ConversionController
) -> None:
    plan(page, controller)
    page.options.choice.grids["w3"].click()
    page.options.compare.click()
    plan(page, controller)
    assert page.options.options() == ConversionOptions()


def test_an_interrupted_conversion_is_resumed_or_begun_anew(
    page: ConvertPage, controller: ConversionController, asked: Asked
) -> None:
    plan(page, controller, replace(PLAN, grid="w4", num_parts=18, num_kept_parts=7))
    assert page.resume.isVisible()
    assert not page.options.isVisible()
    assert "7 of 18 parts" in texts(page.resume)
    assert "4 bits (W4)" in texts(page.resume)
    page.resume.resume_button.click()
    page.resume.restart_button.click()
    assert asked.calls == [("start", {"resume": True}), ("replan", ConversionOptions())]


def test_a_started_conversion_shows_progress_at_once(
    page: ConvertPage, controller: ConversionController
) -> None:
    plan(page, controller)
    controller.state_changed.emit(ConversionState.CONVERTING)
    assert page.progress.isVisible()
    assert not page.options.isVisible()


def test_a_pause_keeps_what_is_done(
    page: ConvertPage, controller: ConversionController, asked: Asked
) -> None:
    controller._current = JOB
    controller.job_started.emit(JOB)
    assert not page.progress.pause_button.isVisible(), "there is nothing to keep yet"
    controller.planned.emit(PLAN)
    page.progress.pause_button.click()
    controller.cancelled.emit(True)
    assert "stays on the disk" in texts(page.error)
    page.error.resume_button.click()
    page.error.discard_button.click()
    assert asked.calls == [
        ("cancel", {"keep_parts": True}),
        ("resume", JOB),
        ("discard_parts", JOB.output),
    ]
    assert "nothing was left behind" in texts(page.error)
