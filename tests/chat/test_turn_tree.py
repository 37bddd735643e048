"""Edited messages and replies made again are versions: none is lost, one path is shown."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.chat.schema import UPGRADES, upgrade
from app.chat.store import ChatStore
from app.chat.transcript import TurnStats

STATS = TurnStats("stop", 12, 4, 3, 0.25, 40.5)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ChatStore]:
    with closing(ChatStore.open(tmp_path / "chats.sqlite3")) as opened:
        yield opened


def reply(store: ChatStore, conversation_id: str, text: str, *, again: bool = False) -> None:
    """A reply behind the last turn, or `again` instead of it."""
    turns = store.load_conversation(conversation_id).turns
    writer = store.begin_reply(conversation_id, "Tiny", turns[-1] if again else None)
    writer.append(text)
    store.finish_reply(writer, STATS)


def shown(store: ChatStore, conversation_id: str) -> list[tuple[str, int, int]]:
    turns = store.load_conversation(conversation_id).turns
    return [(turn.content, turn.version, turn.num_versions) for turn in turns]


@pytest.fixture
def conversation_id(store: ChatStore) -> str:
    """Two questions with an answer each; the second answer was made twice."""
    conversation_id = store.create_conversation("talk").conversation_id
    store.append_turn(conversation_id, "user", "one?")
    reply(store, conversation_id, "1")
    store.append_turn(conversation_id, "user", "two?")
    reply(store, conversation_id, "2a")
    reply(store, conversation_id, "2b", again=True)
    return conversation_id


def step(store: ChatStore, conversation_id: str, position: int, steps: int) -> None:
    turn = store.load_conversation(conversation_id).turns[position]
    store.show_version(conversation_id, turn, steps)


def test_a_reply_made_again_is_a_version(store: ChatStore, conversation_id: str) -> None:
    before = [("one?", 1, 1), ("1", 1, 1), ("two?", 1, 1)]
    assert shown(store, conversation_id) == [*before, ("2b", 2, 2)]
    step(store, conversation_id, 3, -1)
    assert shown(store, conversation_id) == [*before, ("2a", 1, 2)]
    step(store, conversation_id, 3, -1)
    assert shown(store, conversation_id) == [*before, ("2a", 1, 2)]


def test_an_edited_message_begins_a_branch_and_the_other_stays(
    store: ChatStore, conversation_id: str
) -> None:
    first = store.load_conversation(conversation_id).turns[0]
    edited = store.append_version(conversation_id, first, "uno?")
    assert (edited.version, edited.num_versions, edited.parent_id) == (2, 2, None)
    reply(store, conversation_id, "1 it")
    assert shown(store, conversation_id) == [("uno?", 2, 2), ("1 it", 1, 1)]
    step(store, conversation_id, 0, -1)
    old = [("one?", 1, 2), ("1", 1, 1), ("two?", 1, 1), ("2b", 2, 2)]
    assert shown(store, conversation_id) == old
    step(store, conversation_id, 0, 1)
    assert shown(store, conversation_id) == [("uno?", 2, 2), ("1 it", 1, 1)]


def test_what_is_shown_is_remembered(
    tmp_path: Path, store: ChatStore, conversation_id: str
) -> None:
    step(store, conversation_id, 3, -1)
    with closing(ChatStore.open(tmp_path / "chats.sqlite3")) as again:
        assert shown(again, conversation_id)[-1] == ("2a", 1, 2)


def test_a_discarded_version_leaves_what_it_was_to_replace(
    store: ChatStore, conversation_id: str
) -> None:
    before = shown(store, conversation_id)
    last = store.load_conversation(conversation_id).turns[-1]
    store.discard_reply(store.begin_reply(conversation_id, "Tiny", last))
    assert shown(store, conversation_id) == before


def test_a_version_without_text_of_a_killed_program_is_left(
    tmp_path: Path, store: ChatStore, conversation_id: str
) -> None:
    last = store.load_conversation(conversation_id).turns[-1]
    writer = store.begin_reply(conversation_id, "Tiny", last)
    with closing(ChatStore.open(tmp_path / "chats.sqlite3")) as again:
        assert shown(again, conversation_id)[-1] == ("2b", 2, 2)
        writer.append("2c")
        store.finish_reply(writer, STATS)  # it was not killed, but slow
        assert shown(again, conversation_id)[-1] == ("2c", 3, 3)


def test_what_is_not_shown_can_be_found(store: ChatStore, conversation_id: str) -> None:
    assert [row.conversation_id for row in store.list_conversations("2a")] == [conversation_id]


def test_what_was_found_in_a_version_that_is_not_shown_is_shown(
    store: ChatStore, conversation_id: str
) -> None:
    before = shown(store, conversation_id)
    store.show_found(conversation_id, "nowhere")
    store.show_found(conversation_id, "2B")
    assert shown(store, conversation_id) == before, "it is in sight"
    store.show_found(conversation_id, " 2A ")
    assert shown(store, conversation_id) == [*before[:-1], ("2a", 1, 2)]


def test_replies_that_the_first_version_hid_come_back(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        upgrade(connection, UPGRADES[:1])
        connection.execute("INSERT INTO conversations VALUES ('c', 'old', 1, 2, '', '{}', 0)")
        turns = [("user", "q", 0), ("assistant", "a", 1), ("assistant", "b", 0), ("user", "r", 0)]
        for role, content, is_deleted in turns:
            connection.execute(
                "INSERT INTO turns (conversation_id, role, content, created, is_deleted) "
                "VALUES ('c', ?, ?, 1, ?)",
                (role, content, is_deleted),
            )
    with closing(ChatStore.open(path)) as store:
        assert store.notice == ""
        assert shown(store, "c") == [("q", 1, 1), ("b", 2, 2), ("r", 1, 1)]
        step(store, "c", 1, -1)
        assert shown(store, "c") == [("q", 1, 1), ("a", 1, 2)]
