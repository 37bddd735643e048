"""A model that was unloaded for idleness is still the one that answers; what is kept is told."""

from __future__ import annotations

import numpy as np
import pytest
from fake_engine import create_model
from pytestqt.qtbot import QtBot

from app.chat.store import ChatStore
from app.controllers.chat import ChatController
from app.controllers.chat_request import create_request
from app.controllers.chat_state import ChatState
from app.core.events import EngineState, EngineStateChanged
from app.core.paths import chats_path, kv_dir
from app.engine.kv_store import KVStore, StoredConversation
from app.workers.commands import (
    CancelRequest,
    Command,
    ConfigureEngine,
    ForgetConversation,
    LoadModel,
    SubmitRequest,
)
from tests.controllers.chatting import FAKE, MODEL, TIMEOUT_MS

LOADED = create_model(MODEL)


@pytest.fixture
def sent(chat: ChatController, monkeypatch: pytest.MonkeyPatch) -> list[Command]:
    commands: list[Command] = []
    monkeypatch.setattr(chat.engine.local, "send", commands.append)
    return commands


def tell(chat: ChatController, state: EngineState, *, has_model: bool = False) -> None:
    event = EngineStateChanged(state, LOADED if has_model else None)
    chat.engine.local.event_received.emit(event)


def test_an_idle_model_can_be_asked(qtbot: QtBot, ready: ChatController) -> None:
    pid = ready.worker_pid
    tell(ready, EngineState.UNLOADING)
    tell(ready, EngineState.UNLOADED, has_model=True)
    assert ready.state is ChatState.READY
    assert ready.model == LOADED
    with qtbot.waitSignal(ready.reply_finished, timeout=TIMEOUT_MS):
        ready.send("count 3")
    assert ready.worker_pid == pid


def test_a_reply_that_waits_for_its_model_can_be_stopped(
    qtbot: QtBot, ready: ChatController
) -> None:
    ready.send("forever")
    tell(ready, EngineState.LOADING)
    assert ready.state is ChatState.GENERATING
    assert ready.model == LOADED
    tell(ready, EngineState.READY, has_model=True)
    assert ready.state is ChatState.GENERATING
    with qtbot.waitSignal(ready.reply_finished, timeout=TIMEOUT_MS):
        ready.stop()
    assert ready.state is ChatState.READY


def test_nothing_can_be_sent_beside_a_reply_that_met_the_unloading(
    qtbot: QtBot, ready: ChatController
) -> None:
    ready.send("forever")
    tell(ready, EngineState.UNLOADING)
    tell(ready, EngineState.UNLOADED, has_model=True)
    assert ready.state is ChatState.GENERATING
    assert not ready.send("count 3")
    with qtbot.waitSignal(ready.reply_finished, timeout=TIMEOUT_MS):
        ready.stop()
    assert ready.state is ChatState.READY


def test_the_port_wakes_the_model(ready: ChatController) -> None:
    tell(ready, EngineState.UNLOADED, has_model=True)
    tell(ready, EngineState.LOADING)
    assert ready.state is ChatState.LOADING
    tell(ready, EngineState.READY, has_model=True)
    assert ready.state is ChatState.READY


def test_each_process_is_told_what_to_keep(chat: ChatController, sent: list[Command]) -> None:
    configuration = ConfigureEngine(600.0, keeps_conversations=True)
    chat.engine.configure(configuration)
    assert sent == [], "there is no process yet"
    chat.load(LoadModel(MODEL))
    assert sent == [configuration, LoadModel(MODEL)]


def test_a_deleted_conversation_is_forgotten_when_its_reply_has_ended(
    qtbot: QtBot, ready: ChatController, sent: list[Command]
) -> None:
    """A reply that is stopped is saved like any other: what comes behind that removes it."""
    ready.new_conversation()
    conversation_id = ready.conversation.conversation_id
    assert create_request(ready.conversation).cache_key == conversation_id
    ready.send("count 3")
    ready.delete_conversation(conversation_id)
    kinds = [type(command) for command in sent]
    assert kinds == [SubmitRequest, CancelRequest, ForgetConversation]
    assert sent[-1] == ForgetConversation(conversation_id)


def test_what_no_process_was_told_to_forget_goes_with_the_program(qtbot: QtBot) -> None:
    chat = ChatController(ChatStore.open(chats_path()), service=FAKE)
    chat.engine.forget("deleted")
    store = KVStore(kv_dir(), "format")
    for key in ("deleted", "kept"):
        page = store.write(key, np.zeros(8, np.uint8))
        store.finish(key, StoredConversation((1, 2), (page,)))
    chat.shutdown()
    assert store.find("deleted") is None
    assert store.find("kept") is not None
