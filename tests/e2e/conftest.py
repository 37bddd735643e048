"""The real window for every test that asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from app.gui import Program
from tests.ui.window_support import running_program


@pytest.fixture
def program(qtbot: QtBot) -> Iterator[Program]:
    """The program with its window shown and no model loaded."""
    with running_program() as running:
        yield running
