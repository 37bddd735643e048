"""The Convert page with the real converter: choose, compare, choose again, survive a kill."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from pytestqt.qtbot import QtBot

from app.controllers.conversion_job import ConversionState
from app.core.paths import library_dir
from app.gui import Program
from app.ui.pages.convert_page import ConvertPage
from tests.gguf_factory import Q, TinyModel, to_gguf_tensors, write_gguf
from tests.ui.window_support import TIMEOUT_MS, cells, drop_on, running_program, texts


@pytest.fixture
def program(qtbot: QtBot) -> Iterator[Program]:
    with running_program() as running:
        yield running


@pytest.fixture
def page(program: Program) -> ConvertPage:
    return program.window.convert_page


@pytest.fixture
def small_gguf(tmp_path: Path) -> Path:
    model = TinyModel("llama", hidden=128, heads=4, head_dim=32, inner=256)
    tensors = to_gguf_tensors(model, model.weights())
    types = {name: Q.Q4_1 for name in tensors if "norm" not in name}
    return write_gguf(tmp_path / "模型 small.gguf", model, tensors, types)


def wait(qtbot: QtBot, condition: Callable[[], bool]) -> None:
    qtbot.waitUntil(condition, timeout=TIMEOUT_MS)


def drop(qtbot: QtBot, program: Program, source: Path) -> None:
    """Drops a file and waits until the plan waits for the user."""
    drop_on(program.window, [source])
    wait_until_planned(qtbot, program)


def wait_until_planned(qtbot: QtBot, program: Program) -> None:
    conversion = program.controllers.conversion
    wait(qtbot, lambda: conversion.state is ConversionState.PLANNED)


def wait_until_done(qtbot: QtBot, program: Program) -> None:
    conversion = program.controllers.conversion
    wait(qtbot, lambda: conversion.state is ConversionState.IDLE)


def test_what_failed_once_leads_to_no_conversation_later(
    qtbot: QtBot, program: Program, page: ConvertPage, small_gguf: Path
) -> None:
    """The file that was opened is damaged; a whole one of its name is dropped to be converted."""
    whole = small_gguf.read_bytes()
    small_gguf.write_bytes(whole[:64])
    with qtbot.waitSignal(program.controllers.conversion.failed, timeout=TIMEOUT_MS):
        program.window.open_path(small_gguf)
    small_gguf.write_bytes(whole)
    drop(qtbot, program, small_gguf)
    page.options.convert_button.click()
    wait_until_done(qtbot, program)
    assert page.report.isVisible(), texts(page)
    assert program.window.desk.current_page is page


def test_grids_are_compared_and_another_one_is_taken(
    qtbot: QtBot, program: Program, page: ConvertPage, small_gguf: Path
) -> None:
    drop(qtbot, program, small_gguf)
    page.options.choice.grids["w4"].click()
    page.options.choice.group_sizes[32].click()
    wait_until_planned(qtbot, program)
    page.options.compare.click()
    page.options.convert_button.click()
    wait_until_done(qtbot, program)
    assert page.report.isVisible(), texts(page)
    rows = {row[0]: row for row in cells(page.evaluation.table)}
    assert list(rows) == ["Source", "This one: 4 bits (W4)", "8 bits (W8)", "3 bits (W3)"]
    kl = {name: float(row[4].removeprefix("< ")) for name, row in rows.items() if name != "Source"}
    assert 0 < kl["8 bits (W8)"] < kl["This one: 4 bits (W4)"] < kl["3 bits (W3)"]
    assert page.errors.parts.isVisible()
    page.evaluation.choice_buttons[0].click()
    wait_until_done(qtbot, program)
    assert [row[0] for row in cells(page.evaluation.table)][1:] == ["This one: 8 bits (W8)"]
    assert [path.name for path in library_dir().iterdir()] == [small_gguf.stem]


def test_a_finished_conversion_is_measured(
    qtbot: QtBot, program: Program, page: ConvertPage, small_gguf: Path
) -> None:
    drop(qtbot, program, small_gguf)
    page.options.convert_button.click()
    wait_until_done(qtbot, program)
    page.evaluation.measure_button.click()
    assert page.progress.isVisible()
    wait_until_done(qtbot, program)
    assert not page.progress.isVisible()
    (source, own) = cells(page.evaluation.table)
    assert own[0] == "This one: Exact"
    assert own[3] == source[3]
    assert own[4] == "0, same bits"
    assert (library_dir() / small_gguf.stem / "evaluation.json").is_file()


def test_a_killed_conversion_is_offered_to_be_resumed(
    qtbot: QtBot, program: Program, page: ConvertPage, starter_gguf: Path
) -> None:
    conversion = program.controllers.conversion
    drop(qtbot, program, starter_gguf)
    page.options.choice.grids["w8"].click()
    wait_until_planned(qtbot, program)
    page.options.convert_button.click()
    parts = library_dir() / f"{starter_gguf.stem}.partial" / "parts"
    wait(qtbot, lambda: len(list(parts.glob("*.json"))) >= 3)
    psutil.Process(conversion._link.pid).kill()
    wait(qtbot, lambda: page.error.isVisible())
    wait_until_done(qtbot, program)
    drop(qtbot, program, starter_gguf)
    assert "8 bits (W8)" in texts(page.resume)
    page.resume.resume_button.click()
    wait_until_done(qtbot, program)
    assert page.report.isVisible(), texts(page)
    assert [path.name for path in library_dir().iterdir()] == [starter_gguf.stem]
