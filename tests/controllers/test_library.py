"""The library, listed off the GUI thread."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.controllers import library as library_module
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


def test_a_checkpoint_is_listed_wherever_the_library_is(
    qtbot: QtBot, library: LibraryController, starter_checkpoint: Path, tmp_path: Path
) -> None:
    shutil.copytree(starter_checkpoint, library_dir() / "Starter")
    with qtbot.waitSignal(library.entries_changed, timeout=TIMEOUT_MS) as blocker:
        library.refresh()
    (entry,) = blocker.args[0]
    assert (entry.name, entry.path) == ("Starter", library_dir() / "Starter")
    library_dir().rename(tmp_path / "moved")
    with qtbot.waitSignal(library.entries_changed, timeout=TIMEOUT_MS) as blocker:
        library.set_library_dir(tmp_path / "moved")
    assert [entry.path for entry in blocker.args[0]] == [tmp_path / "moved" / "Starter"]


def test_tasks_queue_up(qtbot: QtBot, library: LibraryController) -> None:
    answers: list[object] = []
    library.entries_changed.connect(answers.append)
    for _ in range(20):
        library.refresh()
    qtbot.waitUntil(lambda: len(answers) == 20, timeout=TIMEOUT_MS)
    assert answers == [()] * 20


def test_shutdown_waits_for_the_task_that_runs_and_drops_the_others(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, ended = threading.Event(), threading.Event()
    tasks: list[Path] = []

    def list_slowly(folder: Path) -> tuple[()]:
        tasks.append(folder)
        started.set()
        time.sleep(0.05)
        ended.set()
        return ()

    monkeypatch.setattr(library_module, "_list", list_slowly)
    library = LibraryController(library_dir())
    for _ in range(5):
        library.refresh()
    assert started.wait(TIMEOUT_MS / 1000)
    library.shutdown()
    assert ended.is_set()
    assert tasks == [library_dir()]
