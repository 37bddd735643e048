"""The real window for every test that asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtGui import QFont, QPalette
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.gui import Program, create_application
from app.ui.pages.library_page import LibraryPage
from app.ui.theme import Theme, ThemeMode
from tests.ui.library_items import QuietDisk
from tests.ui.window_support import running_program


@pytest.fixture(scope="session")
def program_look(qapp: QApplication) -> tuple[str, QPalette, QFont]:
    """Style sheet, palette and font of the program as it starts."""
    Theme(create_application(), ThemeMode.SYSTEM)
    return qapp.styleSheet(), qapp.palette(), qapp.font()


@pytest.fixture(autouse=True)
def _looks_like_the_program(qapp: QApplication, program_look: tuple[str, QPalette, QFont]) -> None:
    """Sizes follow from the look: the same one, whichever test ran before."""
    sheet, palette, font = program_look
    if (qapp.styleSheet(), qapp.palette(), qapp.font()) != program_look:
        qapp.setFont(font)
        qapp.setPalette(palette)
        qapp.setStyleSheet(sheet)


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
