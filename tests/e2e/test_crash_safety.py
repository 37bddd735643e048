"""What a killed program wrote is there (row 12 of the public trials), and no key deletes by itself;
files of a newer version are shown, said to be so, and left as they are."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from contextlib import closing
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QListView, QPlainTextEdit, QTextEdit
from pytestqt.qtbot import QtBot

from app.chat.schema import UPGRADES
from app.chat.store import ChatStore
from app.core.paths import chats_path
from app.gui import Program
from app.ui.main_window import MainWindow
from tests.ui.window_support import running_program

ROOT = Path(__file__).parents[2]
# The writer flushes within 200 ms; a loaded machine may take some time over a commit.
MAX_LOSS_S = 0.25 + 2.0

# The real window with the real engine and model; each text that it shows is printed with its time.
WINDOW = """
    import sys, time
    from pathlib import Path
    from PySide6.QtCore import QTimer
    from app import gui
    from app.controllers.chat import ChatController
    from app.core.sampling_settings import SamplingSettings

    def start(program, source):
        chat = program.controllers.chat
        program.window.chat_page.start()
        chat.model_loaded.connect(lambda model: QTimer.singleShot(0, lambda: ask(chat)))
        chat.text_appended.connect(lambda _, t: print(time.monotonic(), len(t), flush=True))
        program.window.load_model(Path({model!r}))

    def ask(chat):
        chat.set_sampling(SamplingSettings(temperature=0.7, seed=7))
        chat.send("Write a very long story about a lighthouse keeper, with many chapters.")

    gui.Program.start = start
    gui.main(None)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_kill_9_of_the_real_window_mid_reply(starter_checkpoint: Path) -> None:
    program = textwrap.dedent(WINDOW.format(model=str(starter_checkpoint)))
    shown: list[tuple[float, int]] = []
    command = [sys.executable, "-c", program]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as window:
        assert window.stdout
        while not shown or shown[-1][0] - shown[0][0] < MAX_LOSS_S + 1.0:
            moment, num_chars = window.stdout.readline().split()
            shown.append((float(moment), int(num_chars)))
        killed_s = time.monotonic()
        os.kill(window.pid, signal.SIGKILL)
    must_be_there = sum(chars for moment, chars in shown if moment < killed_s - MAX_LOSS_S)
    with closing(ChatStore.open(chats_path())) as store:
        assert store.notice == ""
        (row,) = store.list_conversations()
        question, reply = store.load_conversation(row.conversation_id).turns
    assert "lighthouse" in question.content
    assert reply.is_interrupted
    assert len(reply.content) >= must_be_there > 20


def fill(num_conversations: int) -> bytes:
    with closing(ChatStore.open(chats_path())) as store:
        for number in range(num_conversations):
            conversation = store.create_conversation(f"conversation {number}")
            store.append_turn(conversation.conversation_id, "user", f"question {number}")
            writer = store.begin_reply(conversation.conversation_id, "SmolLM2")
            writer.append(f"answer {number}")
            store.finish_reply(writer, None)
    return chats_path().read_bytes()


def focusable(window: MainWindow) -> list[object]:
    widgets = [window.focusWidget(), *window.findChildren(QListView)]
    page = window.chat_page
    widgets += [page.transcript, page.top_bar.picker, page.composer.files, page.panel, page]
    return [widget for widget in widgets if widget is not None]


@pytest.mark.parametrize("key", [Qt.Key.Key_Backspace, Qt.Key.Key_Delete])
def test_no_key_deletes_a_conversation(qtbot: QtBot, key: Qt.Key) -> None:
    fill(3)
    with running_program() as program:
        chat, window = program.controllers.chat, program.window
        rows = chat.list.conversations()
        chat.open_conversation(rows[0].conversation_id)
        cards = list(window.chat_page.transcript.cards)
        assert len(cards) == 2
        targets = [*focusable(window), *cards, *(c for card in cards for c in card.children())]
        for target in targets:
            if isinstance(target, QTextEdit | QPlainTextEdit) or not hasattr(target, "setFocus"):
                continue
            target.setFocus()
            for modifier in (
                Qt.KeyboardModifier.NoModifier,
                Qt.KeyboardModifier.ShiftModifier,
                Qt.KeyboardModifier.ControlModifier,
            ):
                qtbot.keyClick(target, key, modifier)
        assert chat.list.conversations() == rows
        assert len(window.chat_page.transcript.cards) == 2
        assert len(chat.conversation.turns) == 2


@pytest.fixture
def newer(qtbot: QtBot) -> bytes:
    """Conversations and settings of a version to come."""
    fill(1)
    with closing(sqlite3.connect(chats_path(), isolation_level=None)) as connection:
        connection.execute("ALTER TABLE turns ADD COLUMN of_the_future TEXT")
        connection.execute(f"PRAGMA user_version = {len(UPGRADES) + 1}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return chats_path().read_bytes()


def test_conversations_of_a_newer_version_are_shown_and_nothing_is_sent_or_lost(
    qtbot: QtBot, newer: bytes
) -> None:
    with running_program() as program:
        window, chat = program.window, program.controllers.chat
        notes = [banner.text for banner in window.banners.banners]
        assert any("newer version" in note for note in notes)
        (row,) = chat.list.conversations()
        chat.open_conversation(row.conversation_id)
        assert len(window.chat_page.transcript.cards) == 2
        composer = window.chat_page.composer
        assert "only be read" in composer.edit.placeholderText()
        tell_ready(program)
        composer.set_text("what I have just written")
        qtbot.keyClick(composer.edit, Qt.Key.Key_Return)
        assert composer.edit.toPlainText() == "what I have just written"
        assert not composer.send_button.isEnabled()
        assert chat.send("past the button") is False
        assert "newer version" in window.chat_page.banners.banners[-1].text
        assert len(chat.conversation.turns) == 2
    assert chats_path().read_bytes() == newer


def tell_ready(program: Program) -> None:
    """As if a model had been loaded."""
    from app.core.events import EngineState, EngineStateChanged
    from tests.controllers.fake_engine import create_model

    model = create_model(Path("Fake-1B"))
    program.controllers.chat.engine.local.event_received.emit(
        EngineStateChanged(EngineState.READY, model)
    )
