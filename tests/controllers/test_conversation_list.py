"""The list of conversations: order, folders, files; what goes wrong is told and loses nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.chat.store import ChatStore
from app.controllers.conversation_list import ConversationList

TIMEOUT_MS = 60_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ChatStore]:
    with closing(ChatStore.open(tmp_path / "chats.sqlite3")) as opened:
        yield opened


@pytest.fixture
def conversations(store: ChatStore) -> Iterator[ConversationList]:
    for name in ("one", "two"):
        conversation_id = store.create_conversation(name).conversation_id
        store.append_turn(conversation_id, "user", f"hello {name} 🙂")
    listed = ConversationList(store)
    yield listed
    listed.shutdown()


def titles(conversations: ConversationList, folder: str | None = None) -> list[str]:
    return [row.title for row in conversations.conversations(folder=folder)]


def id_of(conversations: ConversationList, title: str) -> str:
    return next(r.conversation_id for r in conversations.conversations() if r.title == title)


def test_pins_and_folders(qtbot: QtBot, conversations: ConversationList) -> None:
    assert titles(conversations) == ["two", "one"]
    with qtbot.waitSignal(conversations.changed):
        conversations.pin(id_of(conversations, "one"), True)
    with qtbot.waitSignal(conversations.changed):
        conversations.move(id_of(conversations, "two"), " Work ")
    assert titles(conversations) == ["one", "two"]
    assert (conversations.folders(), titles(conversations, "Work")) == (("Work",), ["two"])


def test_all_conversations_leave_and_come_back(
    qtbot: QtBot, conversations: ConversationList, tmp_path: Path
) -> None:
    path = tmp_path / "对话.json"
    with qtbot.waitSignal(conversations.exported, timeout=TIMEOUT_MS) as blocker:
        conversations.export_json((), path)
    assert blocker.args == [path]
    with qtbot.waitSignals([conversations.imported, conversations.changed], timeout=TIMEOUT_MS):
        conversations.import_json(path)
    assert sorted(titles(conversations)) == ["one", "one", "two", "two"]


def test_a_duplicate_has_every_version_and_changes_alone(
    qtbot: QtBot, conversations: ConversationList, store: ChatStore
) -> None:
    original = id_of(conversations, "one")
    (question,) = store.load_conversation(original).turns
    store.append_version(original, question, "hello again")
    conversations.move(original, "Work")
    with qtbot.waitSignal(conversations.imported) as blocker:
        conversations.duplicate(original, "one (copy)")
    assert titles(conversations, "Work") == ["one (copy)", "one"]
    copy = id_of(conversations, "one (copy)")
    assert blocker.args == [copy]
    (shown,) = store.load_conversation(copy).turns
    assert (shown.content, shown.version, shown.num_versions) == ("hello again", 2, 2)
    store.append_turn(copy, "user", "only here")
    assert len(store.load_conversation(original).turns) == 1


@pytest.mark.parametrize(("written", "num_turns"), [("", 1), ("so far", 2)])
def test_a_duplicate_made_while_a_reply_is_written_has_what_is_saved_of_it(
    qtbot: QtBot, conversations: ConversationList, store: ChatStore, written: str, num_turns: int
) -> None:
    original = id_of(conversations, "one")
    writer = store.begin_reply(original, "SmolLM2")
    writer.append(written)
    qtbot.waitUntil(lambda: store.load_conversation(original).turns[-1].content == written)
    conversations.duplicate(original, "copy")
    turns = store.load_conversation(id_of(conversations, "copy")).turns
    assert len(turns) == num_turns
    assert [turn.is_interrupted for turn in turns] == [False, True][:num_turns]
    store.finish_reply(writer, None)


def test_one_conversation_as_markdown(
    qtbot: QtBot, conversations: ConversationList, tmp_path: Path
) -> None:
    with qtbot.waitSignal(conversations.exported, timeout=TIMEOUT_MS):
        conversations.export_markdown(id_of(conversations, "one"), tmp_path / "one.md")
    text = (tmp_path / "one.md").read_text(encoding="utf-8")
    assert text == "# one\n\n## You\n\nhello one 🙂\n"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\xff\xfe\x00", "holds no text in UTF-8"),
        (b"# Markdown", "holds no conversations"),
        (json.dumps({"messages": [{"role": "user"}]}).encode(), "'content' is missing"),
    ],
)
def test_a_file_that_is_none_says_so_and_adds_nothing(
    qtbot: QtBot, conversations: ConversationList, tmp_path: Path, content: bytes, reason: str
) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with qtbot.waitSignal(conversations.failed, timeout=TIMEOUT_MS) as blocker:
        conversations.import_json(path)
    assert reason in blocker.args[0].message
    assert len(titles(conversations)) == 2


def test_a_folder_that_is_not_there_says_so(
    qtbot: QtBot, conversations: ConversationList, tmp_path: Path
) -> None:
    for act in (
        lambda: conversations.export_json((), tmp_path / "none" / "x.json"),
        lambda: conversations.import_json(tmp_path / "none.json"),
    ):
        with qtbot.waitSignal(conversations.failed, timeout=TIMEOUT_MS) as blocker:
            act()
        assert blocker.args[0].message
