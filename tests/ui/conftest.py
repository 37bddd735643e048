"""The real window for every test that asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from app.gui import Program
from app.ui.pages.library_page import LibraryPage
from tests.ui.library_items import QuietDisk
from tests.ui.window_support import OFFSCREEN_NOISE, running_program


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The offscreen platform complains about windows with a minimum size, tool tips and menus."""
    for item in items:
        if "tests/ui" in item.path.as_posix():
            item.add_marker(pytest.mark.qt_log_ignore(OFFSCREEN_NOISE))


@pytest.fixture
def program(qtbot: QtBot) -> Iterator[Program]:
    """The program with its window shown and no model loaded."""
    with running_program() as running:
        yield running


@pytest.fixture
def disk(qtbot: QtBot) -> Iterator[QuietDisk]:
    """A disk that only remembers what it is asked for."""
    made = QuietDisk()
    yield made
    made.shutdown()


@pytest.fixture
def library_page(qtbot: QtBot, disk: QuietDisk) -> LibraryPage:
    """Shown, before anything was found."""
    widget = LibraryPage(disk, has_starter=True)
    qtbot.addWidget(widget)
    widget.resize(1180, 820)
    widget.show()
    return widget
