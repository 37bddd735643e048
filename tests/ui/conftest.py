"""The real window for every test that asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from app.gui import Program
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
