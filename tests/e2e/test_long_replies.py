"""Replies of 6,000 tokens, and a model that loads slowly: the window's loop is never held up."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QListView
from pytestqt.qtbot import QtBot

from app import gui
from app.chat.transcript import Turn
from app.controllers.chat import ChatController
from app.controllers.chat_state import ChatState
from app.gui import Program
from app.ui.highlight import find_spans
from app.ui.widgets.markdown_view import MarkdownView
from app.ui.widgets.reply_card import ReplyCard
from benchmarks.lateness import Lateness
from tests.controllers.chatting import FAKE
from tests.controllers.fake_engine import essay
from tests.ui.window_support import TIMEOUT_MS, running_program

NUM_TOKENS = 6000
MAX_BLOCKED_MS = 100  # of the thread's own time: the machine may be busy with other things


@pytest.fixture(autouse=True)
def _no_heap_of_other_tests() -> Iterator[None]:
    """What torch and earlier tests left in this process is no part of the window: a collection that
    walks it takes half a second.
    """
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def program(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> Iterator[Program]:
    """The real window with an engine that writes what it is asked for."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "controllers")
    monkeypatch.setattr(gui, "ChatController", partial(ChatController, service=FAKE))
    list(find_spans("x = 1", "python"))  # Pygments is imported with the first code block
    with running_program() as running:
        load(qtbot, running, "Fake-1B")
        yield running


def load(qtbot: QtBot, program: Program, name: str) -> None:
    program.window.load_model(Path("models") / name)
    qtbot.waitUntil(lambda: program.controllers.chat.state is ChatState.READY, timeout=TIMEOUT_MS)


def ask(qtbot: QtBot, program: Program, text: str) -> Turn:
    chat = program.controllers.chat
    with qtbot.waitSignal(chat.reply_finished, timeout=TIMEOUT_MS) as blocker:
        chat.send(text)
    return blocker.args[1]


def test_a_long_reply_streams_without_holding_up_the_loop(
    qtbot: QtBot, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[int] = []
    original = MarkdownView._draw_block
    monkeypatch.setattr(
        MarkdownView,
        "_draw_block",
        lambda view, block: (drawn.append(len(block.text)), original(view, block)),
    )
    with Lateness() as lateness:
        turn = ask(qtbot, program, f"essay {NUM_TOKENS}")
        card = program.window.chat_page.transcript.cards[-1]
        assert isinstance(card, ReplyCard)
        qtbot.waitUntil(lambda: not card.body.is_drawing, timeout=TIMEOUT_MS)
    assert turn.content == essay(NUM_TOKENS) == card.text == card.body.text
    assert lateness.figures()["max_cpu_ms"] < MAX_BLOCKED_MS
    assert sum(drawn) < 20 * len(turn.content)  # each repaint draws its last block anew


def test_a_long_conversation_opens_without_holding_up_the_loop(
    qtbot: QtBot, program: Program
) -> None:
    chat, store = program.controllers.chat, program.store
    opened = store.create_conversation("long")
    text = essay(NUM_TOKENS)
    for _ in range(100):
        store.append_turn(opened.conversation_id, "user", "go on")
        store.append_turn(opened.conversation_id, "assistant", text)
    transcript = program.window.chat_page.transcript
    with Lateness() as lateness:
        chat.open_conversation(opened.conversation_id)
        assert transcript.cards[-1].text == text
        qtbot.waitUntil(lambda: len(transcript.cards) == 5, timeout=TIMEOUT_MS)
        qtbot.waitUntil(lambda: not transcript._settling.isActive(), timeout=TIMEOUT_MS)
    assert lateness.figures()["max_cpu_ms"] < MAX_BLOCKED_MS


def test_a_long_reply_stops_at_once(qtbot: QtBot, program: Program) -> None:
    chat, page = program.controllers.chat, program.window.chat_page
    page.composer.edit.setPlainText(f"essay {100 * NUM_TOKENS}")
    qtbot.keyClick(page.composer.edit, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: len(chat.reply_text) > 4000, timeout=TIMEOUT_MS)
    with qtbot.waitSignal(chat.reply_finished, timeout=TIMEOUT_MS) as blocker:
        qtbot.keyClick(page.composer.edit, Qt.Key.Key_Escape)
    turn = blocker.args[1]
    assert turn.stats.finish_reason == "cancelled"
    assert 4000 < len(turn.content) < 100 * NUM_TOKENS
    assert chat.state is ChatState.READY


def test_a_chat_is_deleted_while_a_model_loads(qtbot: QtBot, program: Program) -> None:
    chat, page = program.controllers.chat, program.window.chat_page
    ask(qtbot, program, "count 3")
    other = chat.conversation.conversation_id
    page.new_conversation()
    program.window.load_model(Path("models") / "slow")
    qtbot.waitUntil(lambda: chat.state is ChatState.LOADING, timeout=TIMEOUT_MS)
    page._on_delete_requested(other)
    rows = page.conversations.findChild(QListView).model()
    assert rows.rowCount() == 0
    assert chat.state is ChatState.LOADING
    qtbot.waitUntil(lambda: chat.state is ChatState.READY, timeout=TIMEOUT_MS)
