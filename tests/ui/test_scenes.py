"""No text of the window is cut off in any state, language or size that it can have."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QTranslator
from PySide6.QtWidgets import QApplication, QPushButton, QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from app.core.paths import settings_path
from app.core.settings_store import SettingsStore
from app.gui import Program
from tests.ui.pictures import find_problems
from tests.ui.scenes import SCENES, quiet_workers
from tests.ui.window_support import running_program

# Language and size: as it opens, and all of a screen of 1366 x 768 at 200 %.
LOOKS = [
    ("en", 1280, 800),
    ("zh_CN", 683, 384),
    pytest.param("zh_CN", 1280, 800, marks=pytest.mark.slow),
    pytest.param("en", 683, 384, marks=pytest.mark.slow),
]
_MAX_ROUNDS = 12  # layouts follow one another


@pytest.fixture
def program(request: pytest.FixtureRequest, qapp: QApplication, qtbot: QtBot) -> Iterator[Program]:
    SettingsStore(settings_path()).update(language=request.param)
    with quiet_workers(), running_program() as running:
        yield running
    for translator in qapp.findChildren(QTranslator):
        qapp.removeTranslator(translator)
        translator.deleteLater()


@pytest.mark.parametrize(("program", "width", "height"), LOOKS, indirect=["program"])
def test_every_scene_is_whole(program: Program, width: int, height: int) -> None:
    window, found = program.window, {}
    window.resize(width, height)
    for scene in SCENES:
        scene(program)
        for _ in range(_MAX_ROUNDS):
            QApplication.processEvents()
        tops = [top for top in QApplication.topLevelWidgets() if top.isVisible()]
        problems = [problem for top in tops for problem in find_problems(top)]
        problems += _sideways(window.findChildren(QScrollArea))
        right = window.geometry().right()  # where a full-screen window's screen ends
        problems += [
            f"{type(top).__name__} ends behind it"
            for top in tops
            if top.x() + top.width() > right + 1
        ]
        if scene.__name__.startswith("chat_") or scene.__name__.endswith("_empty"):
            problems += _without_first_step(window)
        if problems:
            found[scene.__name__] = sorted(set(problems))
        for top in tops:
            if top is not window:
                top.close()
    assert found == {}


def _sideways(areas: list[QScrollArea]) -> list[str]:
    """Only a table or code may be wider than its place."""
    seen = [area for area in areas if area.isVisible() and area.horizontalScrollBar().maximum()]
    return [f"{type(area.parent()).__name__} scrolls sideways" for area in seen]


def _without_first_step(window: QWidget) -> list[str]:
    """Of the buttons that lead on, one is seen whole without scrolling."""
    buttons = [b for b in window.findChildren(QPushButton) if b.property("kind") == "primary"]
    shown = [button for button in buttons if button.isVisible()]
    whole = [b for b in shown if b.visibleRegion().boundingRect() == b.rect()]
    return [] if whole or not shown else [f"{shown[0].text()} must be scrolled to"]
