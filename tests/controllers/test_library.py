"""The library, listed and changed off the GUI thread."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.controllers.library import LibraryController
from app.core.paths import library_dir

TIMEOUT_MS = 120_000


@pytest.fixture
def library(qtbot: QtBot) -> Iterator[LibraryController]:
    controller = LibraryController(library_dir())
    yield controller
    controller.shutdown()


def test_empty_library(qtbot: QtBot, library: LibraryController) -> None:
    with qtbot.waitSignal(library.entries_changed, timeout=TIMEOUT_MS) as blocker:
        library.refresh()
    assert blocker.args == [()]


def test_a_checkpoint_is_listed_and_removed(
    qtbot: QtBot, library: LibraryController, starter_checkpoint: Path
) -> None:
    shutil.copytree(starter_checkpoint, library_dir() / "Starter")
    with qtbot.waitSignal(library.entries_changed, timeout=TIMEOUT_MS) as blocker:
        library.refresh()
    (entry,) = blocker.args[0]
    assert (entry.name, entry.path) == ("Starter", library_dir() / "Starter")
    with qtbot.waitSignal(library.entries_changed, timeout=TIMEOUT_MS) as blocker:
        library.remove("Starter")
    assert blocker.args == [()]
    assert not entry.path.exists()


def test_what_cannot_be_removed_is_one_sentence(qtbot: QtBot, library: LibraryController) -> None:
    with qtbot.waitSignal(library.failed, timeout=TIMEOUT_MS) as blocker:
        library.remove("../elsewhere")
    assert "not a name in the library" in blocker.args[0].message


def test_tasks_queue_up(qtbot: QtBot, library: LibraryController) -> None:
    answers: list[object] = []
    library.entries_changed.connect(answers.append)
    for _ in range(20):
        library.refresh()
    qtbot.waitUntil(lambda: len(answers) == 20, timeout=TIMEOUT_MS)


def test_shutdown_with_tasks_waiting(qtbot: QtBot) -> None:
    library = LibraryController(library_dir())
    for _ in range(5):
        library.refresh()
    library.shutdown()
