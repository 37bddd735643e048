"""A chat controller over a child process with a fake engine, and what tests do with it."""

from __future__ import annotations

from pathlib import Path

from pytestqt.qtbot import QtBot

from app.chat.store import ChatStore
from app.chat.transcript import Turn
from app.controllers.chat import ChatController
from app.core.paths import chats_path

FAKE = "fake_engine:create_service"
MODEL = Path("models") / "Fake-1B"
TIMEOUT_MS = 120_000


def converse(qtbot: QtBot, chat: ChatController, text: str) -> Turn:
    with qtbot.waitSignal(chat.reply_finished, timeout=TIMEOUT_MS) as blocker:
        chat.send(text)
    conversation_id, turn = blocker.args
    assert conversation_id == chat.conversation.conversation_id
    return turn


def saved_turns(conversation_id: str) -> list[tuple[str, str, bool]]:
    store = ChatStore.open(chats_path())
    turns = store.load_conversation(conversation_id).turns
    store.close()
    return [(turn.role, turn.content, turn.is_interrupted) for turn in turns]


def counted(num_words: int) -> str:
    return "".join(f"{number} " for number in range(num_words))
