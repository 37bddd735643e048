"""Closing the window asks first while a conversion runs, and only then."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from app.controllers.conversion_job import ConversionState
from app.gui import Program
from app.ui.dialogs.close_dialog import CloseDialog
from tests.ui.conversion_samples import JOB


@pytest.fixture
def converting(program: Program) -> Program:
    """The program while its controller converts (nothing, here)."""
    conversion = program.controllers.conversion
    conversion._current = JOB
    conversion._set_state(ConversionState.CONVERTING)
    return program


def open_dialog(program: Program) -> CloseDialog:
    program.window.close()
    assert program.window.isVisible()
    dialog = program.window.findChild(CloseDialog)
    assert isinstance(dialog, CloseDialog)
    assert dialog.isVisible()
    return dialog


def finish(program: Program) -> None:
    program.controllers.conversion._current = None
    program.controllers.conversion._set_state(ConversionState.IDLE)


@pytest.mark.parametrize("state", [s for s in ConversionState if s != ConversionState.CONVERTING])
def test_nothing_is_asked_when_nothing_is_interrupted(
    program: Program, state: ConversionState
) -> None:
    program.controllers.conversion._is_evaluating = state is ConversionState.CANCELLING
    program.controllers.conversion._set_state(state)
    program.window.close()
    assert not program.window.isVisible()


def test_keep_converting_is_the_default(qtbot: QtBot, converting: Program) -> None:
    dialog = open_dialog(converting)
    assert dialog.keep_button.isDefault()
    converting.window.close()
    assert len(converting.window.findChildren(CloseDialog)) == 1, "asked once"
    dialog.keep_button.click()
    assert converting.window.isVisible()
    qtbot.waitUntil(lambda: converting.window.findChild(CloseDialog) is None)
    open_dialog(converting).keep_button.click()
    finish(converting)


def test_stop_and_close(converting: Program) -> None:
    open_dialog(converting).stop_button.click()
    assert not converting.window.isVisible()
    finish(converting)


def test_the_question_goes_when_the_conversion_ends(qtbot: QtBot, converting: Program) -> None:
    open_dialog(converting)
    finish(converting)
    qtbot.waitUntil(lambda: converting.window.findChild(CloseDialog) is None)
    assert converting.window.isVisible(), "the report is there to be read"
