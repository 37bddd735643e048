"""A turn goes alone, and comes back to where it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.chat.documents import from_json, to_json
from app.chat.store import ChatStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chats.sqlite3"


@pytest.fixture
def store(path: Path) -> Iterator[ChatStore]:
    with closing(ChatStore.open(path)) as opened:
        yield opened


def talk(store: ChatStore, *contents: str) -> str:
    conversation_id = store.create_conversation().conversation_id
    for number, content in enumerate(contents):
        store.append_turn(conversation_id, "assistant" if number % 2 else "user", content)
    return conversation_id


def shown(store: ChatStore, conversation_id: str) -> list[str]:
    return [turn.content for turn in store.load_conversation(conversation_id).turns]


def id_of(store: ChatStore, conversation_id: str, content: str) -> int:
    turns = store.load_tree(conversation_id).turns
    return next(turn.turn_id for turn in turns if turn.content == content)


@pytest.mark.parametrize("content", ["q1", "a1", "q2", "a2"])
def test_one_turn_goes_and_comes_back(store: ChatStore, path: Path, content: str) -> None:
    told = ["q1", "a1", "q2", "a2"]
    conversation_id = talk(store, *told)
    before = store.load_tree(conversation_id)
    deleted = store.delete_turn(conversation_id, id_of(store, conversation_id, content))
    rest = [other for other in told if other != content]
    assert shown(store, conversation_id) == rest
    assert store.list_conversations(content) == ()
    with closing(ChatStore.open(path)) as again:  # as after a restart
        assert shown(again, conversation_id) == rest
    store.restore_turn(deleted)
    assert store.load_tree(conversation_id) == before


def test_all_turns_go_and_the_latest_comes_back_first(store: ChatStore) -> None:
    told = ["q1", "a1", "q2", "a2"]
    conversation_id = talk(store, *told)
    before = store.load_tree(conversation_id)
    order = ("a1", "a2", "q1", "q2")
    deleted = [
        store.delete_turn(conversation_id, id_of(store, conversation_id, content))
        for content in order
    ]
    assert shown(store, conversation_id) == []
    for one in reversed(deleted):
        store.restore_turn(one)
    assert store.load_tree(conversation_id) == before


def test_of_several_versions_another_takes_its_place(store: ChatStore) -> None:
    conversation_id = talk(store, "q1", "a1", "q2")
    first = store.load_conversation(conversation_id).turns[1]
    again = store.append_version(conversation_id, first, "a1 again")
    store.append_turn(conversation_id, "user", "q3")
    deleted = store.delete_turn(conversation_id, again.turn_id)
    assert shown(store, conversation_id) == ["q1", "a1", "q3"]
    turns = store.load_conversation(conversation_id).turns
    assert [turn.num_versions for turn in turns] == [1, 1, 2]
    store.restore_turn(deleted)
    assert shown(store, conversation_id) == ["q1", "a1 again", "q3"]
    assert store.load_conversation(conversation_id).turns[1].num_versions == 2


def test_the_last_version_leaves_what_followed_the_other(store: ChatStore) -> None:
    conversation_id = talk(store, "q1", "a1", "q2")
    first = store.load_conversation(conversation_id).turns[1]
    again = store.append_version(conversation_id, first, "a1 again")
    deleted = store.delete_turn(conversation_id, again.turn_id)
    assert shown(store, conversation_id) == ["q1", "a1", "q2"]
    store.restore_turn(deleted)
    assert shown(store, conversation_id) == ["q1", "a1 again"]


def test_what_was_said_since_stays_when_a_turn_comes_back(store: ChatStore) -> None:
    conversation_id = talk(store, "q1", "a1")
    deleted = store.delete_turn(conversation_id, id_of(store, conversation_id, "a1"))
    store.append_turn(conversation_id, "assistant", "a better one")
    store.restore_turn(deleted)
    assert shown(store, conversation_id) == ["q1", "a better one"]
    assert store.load_conversation(conversation_id).turns[1].num_versions == 2


def test_a_deleted_turn_is_not_exported_and_breaks_no_branch(store: ChatStore) -> None:
    conversation_id = talk(store, "q1", "a1", "q2", "a2")
    store.delete_turn(conversation_id, id_of(store, conversation_id, "a1"))
    (tree,) = from_json(to_json([store.load_tree(conversation_id)]))
    assert shown(store, store.add_tree(tree)) == ["q1", "q2", "a2"]
