"""The chat controller with another server instead of the engine's process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.chat.store import ChatStore
from app.chat.transcript import Turn
from app.controllers.chat import ChatController
from app.controllers.chat_state import ChatState
from app.controllers.remote_link import ConnectRemote
from app.core.paths import chats_path
from app.remote.endpoint import RemoteEndpoint
from app.workers.commands import LoadModel
from tests.remote.fake_openai import KEY, FakeOpenAI

TIMEOUT_MS = 60_000


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI().running() as running:
        yield running


@pytest.fixture
def chat(qtbot: QtBot) -> Iterator[ChatController]:
    controller = ChatController(ChatStore.open(chats_path()), service="fake_engine:create_service")
    yield controller
    controller.shutdown()


@pytest.fixture
def connected(qtbot: QtBot, chat: ChatController, server: FakeOpenAI) -> ChatController:
    connect(qtbot, chat, RemoteEndpoint(server.base_url))
    return chat


def connect(qtbot: QtBot, chat: ChatController, endpoint: RemoteEndpoint) -> None:
    with qtbot.waitSignal(chat.model_loaded, timeout=TIMEOUT_MS):
        chat.load(ConnectRemote(endpoint))


def converse(qtbot: QtBot, chat: ChatController, text: str) -> Turn:
    with qtbot.waitSignal(chat.reply_finished, timeout=TIMEOUT_MS) as blocker:
        chat.send(text)
    turn = blocker.args[1]
    assert isinstance(turn, Turn)
    return turn


def test_its_first_model_answers_without_a_process(
    qtbot: QtBot, connected: ChatController, server: FakeOpenAI
) -> None:
    assert connected.model
    assert (connected.model.name, connected.model.max_model_len) == ("big-70b", 32768)
    assert connected.model.device_note == server.base_url
    connected.new_conversation(system_prompt="Be brief.")
    turn = converse(qtbot, connected, "say hello there")
    assert (turn.content, turn.model_name) == ("hello there ", "big-70b")
    assert turn.stats
    assert (turn.stats.finish_reason, turn.stats.completion_tokens) == ("stop", 34)
    converse(qtbot, connected, "say more")
    assert [message["role"] for message in server.bodies[-1]["messages"]] == [
        "system",
        "user",
        "assistant",
        "user",
    ]
    assert connected.worker_pid is None


def test_a_stop_keeps_the_text(qtbot: QtBot, connected: ChatController, server: FakeOpenAI) -> None:
    with qtbot.waitSignal(connected.text_appended, timeout=TIMEOUT_MS):
        connected.send("forever")
    with qtbot.waitSignal(connected.reply_finished, timeout=TIMEOUT_MS) as finished:
        connected.stop()
    turn = finished.args[1]
    assert turn.stats.finish_reason == "cancelled"
    assert turn.content.startswith("0 ")
    assert connected.state is ChatState.READY
    qtbot.waitUntil(lambda: server.num_gone == 1, timeout=TIMEOUT_MS)


def test_a_refused_reply_leaves_no_turn(qtbot: QtBot, connected: ChatController) -> None:
    with qtbot.waitSignal(connected.reply_failed, timeout=TIMEOUT_MS) as failed:
        connected.send("400 The prompt is too long")
    assert failed.args[1].message.endswith("answered 400: The prompt is too long.")
    assert connected.state is ChatState.READY
    assert [turn.role for turn in connected.conversation.turns] == ["user"]


def test_a_server_that_refuses_the_key_is_named(
    qtbot: QtBot, chat: ChatController, server: FakeOpenAI
) -> None:
    server.wants_key = True
    with qtbot.waitSignal(chat.failed, timeout=TIMEOUT_MS) as failed:
        chat.load(ConnectRemote(RemoteEndpoint(server.base_url)))
    assert "401" in failed.args[0].message
    assert chat.state is ChatState.FAILED
    connect(qtbot, chat, RemoteEndpoint(server.base_url, "small", KEY))
    assert chat.model
    assert chat.model.name == "small"


def test_a_model_that_it_has_not_is_named(
    qtbot: QtBot, chat: ChatController, server: FakeOpenAI
) -> None:
    with qtbot.waitSignal(chat.failed, timeout=TIMEOUT_MS) as failed:
        chat.load(ConnectRemote(RemoteEndpoint(server.base_url, "gpt-9")))
    assert "has no model gpt-9; it has big-70b, small" in failed.args[0].message


def test_there_and_back(
    qtbot: QtBot, chat: ChatController, server: FakeOpenAI, tmp_path: Path
) -> None:
    load(qtbot, chat, tmp_path)
    assert chat.worker_pid
    connect(qtbot, chat, RemoteEndpoint(server.base_url))
    qtbot.waitUntil(lambda: not chat.engine.local.is_running, timeout=TIMEOUT_MS)
    assert converse(qtbot, chat, "say far").content == "far "
    load(qtbot, chat, tmp_path)
    assert not chat.engine.is_remote
    assert converse(qtbot, chat, "count 3").content == "0 1 2 "
    assert [body["messages"][-1]["content"] for body in server.bodies] == ["say far"]


def test_a_process_that_the_port_needs_stays(
    qtbot: QtBot, chat: ChatController, server: FakeOpenAI, tmp_path: Path
) -> None:
    load(qtbot, chat, tmp_path)
    chat.engine.set_kept(True)
    pid = chat.worker_pid
    connect(qtbot, chat, RemoteEndpoint(server.base_url))
    assert chat.worker_pid == pid
    chat.unload_model()
    qtbot.waitUntil(lambda: chat.state is ChatState.UNLOADED, timeout=TIMEOUT_MS)
    load(qtbot, chat, tmp_path)
    chat.unload_model()
    qtbot.waitUntil(lambda: chat.state is ChatState.UNLOADED, timeout=TIMEOUT_MS)
    assert chat.worker_pid == pid
    chat.engine.set_kept(False)
    qtbot.waitUntil(lambda: chat.worker_pid is None, timeout=TIMEOUT_MS)


def test_closing_breaks_off_a_server_that_says_nothing(
    qtbot: QtBot, connected: ChatController
) -> None:
    with qtbot.waitSignal(connected.reply_started, timeout=TIMEOUT_MS):
        connected.send("silence")
    # The fixture's shutdown must not wait for the server.
    assert connected.replying_conversation_id == connected.conversation.conversation_id


def load(qtbot: QtBot, chat: ChatController, model_dir: Path) -> None:
    with qtbot.waitSignal(chat.model_loaded, timeout=TIMEOUT_MS):
        chat.load(LoadModel(model_dir))
