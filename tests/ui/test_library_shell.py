"""What the Library page asks for happens on the other pages of the real window."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from app.controllers.conversion_job import create_output_name
from app.gui import Program
from app.ui.dialogs.move_library_dialog import MoveLibraryDialog
from app.ui.pages.library_page import LibraryPage


@pytest.fixture
def page(program: Program, monkeypatch: pytest.MonkeyPatch) -> LibraryPage:
    """In front; nothing looks at the disk."""
    monkeypatch.setattr(program.controllers.disk, "refresh", lambda: None)
    program.window.show_page(program.window.library_page)
    return program.window.library_page


def _record(monkeypatch: pytest.MonkeyPatch, target: object, name: str) -> list[Any]:
    calls: list[Any] = []
    monkeypatch.setattr(target, name, lambda *args, **options: calls.append((*args, options)))
    return calls


def test_a_download_goes_on_where_downloads_are(
    program: Program, page: LibraryPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = _record(monkeypatch, program.controllers.download.hub, "submit")
    page.fetch_requested.emit("org/name:file.gguf")
    assert asked == [("org/name:file.gguf", {})]
    assert program.window.download_page.isVisible()


def test_a_conversion_goes_on_with_its_own_output(
    program: Program, page: LibraryPage, tmp_path: Path
) -> None:
    conversion, jobs = program.controllers.conversion, []
    conversion.job_started.connect(jobs.append)
    source, output = tmp_path / "model.gguf", tmp_path / "library" / "under another name"
    page.resume_requested.emit(source, output)
    assert [(job.source, job.output, job.starts_at_once) for job in jobs] == [
        (source, output, False)
    ]
    assert program.window.convert_page.isVisible()
    conversion.cancel()


def test_the_library_moves_for_all(
    qtbot: QtBot,
    program: Program,
    page: LibraryPage,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moves = _record(monkeypatch, program.controllers.disk, "move_library")
    program.window.show_page(program.window.settings_page)
    program.window.library_shell.ask_to_move()
    (dialog,) = program.window.findChildren(MoveLibraryDialog)
    dialog.field.setText(str(tmp_path / "new"))
    dialog.move_button.click()
    assert moves == [(tmp_path / "new", {})]
    assert page.isVisible()
    jobs: list[Any] = []
    program.controllers.conversion.queue_changed.connect(jobs.extend)
    program.controllers.disk.moved.emit(tmp_path, tmp_path / "new")
    source = tmp_path / "model.gguf"
    program.controllers.conversion.enqueue([source], start=False)
    assert jobs[0].output == tmp_path / "new" / create_output_name(source)
    program.controllers.conversion.cancel()


def test_an_ended_conversion_or_download_is_looked_at(
    program: Program, page: LibraryPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = _record(monkeypatch, program.controllers.disk, "refresh")
    program.controllers.conversion.cancelled.emit(True)
    program.controllers.download.finished.emit("key", None)
    assert len(looks) == 2
    program.window.show_page(program.window.chat_page)
    program.controllers.download.finished.emit("key", None)
    assert len(looks) == 2  # later, when it is seen
    program.window.show_page(page)
    assert len(looks) == 3
