"""The Library page in the real window, with its process, a real checkpoint and a real trash."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut
from pytestqt.qtbot import QtBot

from app.controllers.disk import DiskWork
from app.core.library_events import ItemKind, LibraryItem
from app.core.paths import library_dir
from app.gui import Program
from app.ui.library_actions import LibraryAction
from app.ui.pages.library_page import LibraryPage
from tests.ui.library_items import remove_dialog, select
from tests.ui.window_support import TIMEOUT_MS, running_program, texts

NAME = "团队 starter"


@pytest.fixture
def own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trash and a hub's cache of this test."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home" / "data"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))


def _items(page: LibraryPage) -> dict[str, LibraryItem]:
    return {item.name: item for item in page._scanned.items} if page._scanned else {}


def _remove(qtbot: QtBot, page: LibraryPage) -> None:
    qtbot.keyClick(page.table, Qt.Key.Key_Delete)
    with qtbot.waitSignal(page._controller.removed, timeout=TIMEOUT_MS):
        remove_dialog(page).remove_button.click()


def _idle(page: LibraryPage) -> bool:
    return page._controller.work is DiskWork.NONE and not page._controller.is_scanning


@pytest.mark.usefixtures("own_places")
def test_verify_remove_and_undo(
    qtbot: QtBot, starter_checkpoint: Path, starter_gguf: Path, tmp_path: Path
) -> None:
    checkpoint = library_dir() / NAME
    shutil.copytree(starter_checkpoint, checkpoint)
    with running_program() as program:
        page, picker = program.window.library_page, program.window.chat_page.top_bar.picker
        (tmp_path / "models").mkdir()
        (tmp_path / "models" / starter_gguf.name).hardlink_to(starter_gguf)
        program.settings.update(source_folders=str(tmp_path / "models"))
        _press(program, "Ctrl+6")
        qtbot.waitUntil(lambda: len(_items(page)) == 2 and _idle(page), timeout=TIMEOUT_MS)
        items = _items(page)
        assert items[starter_gguf.stem].checkpoint == checkpoint
        select(page, items[NAME])
        with qtbot.waitSignal(page._controller.verified, timeout=TIMEOUT_MS):
            page.card.buttons[LibraryAction.VERIFY].click()
        assert "every byte is what it should be" in texts(page.work)
        qtbot.waitUntil(lambda: _idle(page), timeout=TIMEOUT_MS)
        select(page, _items(page)[NAME])
        _remove(qtbot, page)
        assert not checkpoint.exists()
        qtbot.waitUntil(lambda: picker._entries == (), timeout=TIMEOUT_MS)
        qtbot.waitUntil(lambda: NAME not in _items(page) and _idle(page), timeout=TIMEOUT_MS)
        with qtbot.waitSignal(page._controller.restored, timeout=TIMEOUT_MS):
            page.banners.banners[0].action_button.click()
        qtbot.waitUntil(lambda: NAME in _items(page) and _idle(page), timeout=TIMEOUT_MS)
        qtbot.waitUntil(lambda: [e.name for e in picker._entries] == [NAME], timeout=TIMEOUT_MS)
        assert {item.kind for item in _items(page).values()} == {
            ItemKind.CHECKPOINT,
            ItemKind.SOURCE,
        }


def _press(program: Program, keys: str) -> None:
    shortcuts = program.window.findChildren(QShortcut)
    (found,) = (shortcut for shortcut in shortcuts if shortcut.key() == QKeySequence(keys))
    found.activated.emit()
