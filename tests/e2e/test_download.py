"""From words to a checkpoint in the real window: found, fetched, converted with one click."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.core.paths import library_dir
from app.hub.library import list_entries
from tests.gguf_factory import TinyModel, to_gguf_tensors, write_gguf
from tests.hub.fake_hub import FakeHub
from tests.ui.window_support import TIMEOUT_MS, running_program

REPO, NAME = "org/Tiny-GGUF", "Tiny-Q8_0.gguf"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    """The hub of every process that is started from here on, with a cache of its own."""
    model = TinyModel()
    path = write_gguf(tmp_path / "m.gguf", model, to_gguf_tensors(model, model.weights()))
    with FakeHub().running() as hub:
        hub.add(REPO, {NAME: path.read_bytes()}, downloads=9)
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
        yield hub


def test_words_become_a_checkpoint_by_keyboard_and_one_click(qtbot: QtBot, hub: FakeHub) -> None:
    with running_program() as program:
        window = program.window
        page = window.download_page
        window.show_page(page)
        page.field.edit.setText("tiny gguf")
        qtbot.keyClick(page.field.edit, Qt.Key.Key_Return)
        qtbot.waitUntil(page.results.isVisible, timeout=TIMEOUT_MS)
        qtbot.keyClick(page.results.table, Qt.Key.Key_Return)
        qtbot.waitUntil(page.repository.isVisible, timeout=TIMEOUT_MS)
        page.repository.download_button.click()
        (card,) = page.queue.cards.values()
        qtbot.waitUntil(card.convert_button.isVisible, timeout=TIMEOUT_MS)
        with qtbot.waitSignal(program.controllers.conversion.finished, timeout=TIMEOUT_MS):
            card.convert_button.click()
        assert window.convert_page.isVisible()
    (entry,) = list_entries(library_dir())
    assert entry.source_name == Path(NAME).stem
