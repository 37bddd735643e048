"""Conversations leave and come back whole; what is no export is refused in one sentence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.chat.documents import ConversationTree, from_json, to_json, to_markdown
from app.chat.store import ChatStore
from app.chat.transcript import Turn, TurnStats
from app.core.errors import ChatStoreError
from app.core.sampling_settings import SamplingSettings

STATS = TurnStats("stop", 12, 4, 3, 0.25, 40.5)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ChatStore]:
    with closing(ChatStore.open(tmp_path / "chats.sqlite3")) as opened:
        yield opened


@pytest.fixture
def tree(store: ChatStore) -> ConversationTree:
    """Two versions of the reply, the first of them shown; pinned, in a folder."""
    sampling = SamplingSettings(temperature=0.1, seed=7, stop=("###",))
    created = store.create_conversation("名字", system_prompt="Be brief.", sampling=sampling)
    conversation_id = created.conversation_id
    store.append_turn(conversation_id, "user", "one? 🙂")
    for text in ("<think>\nhm\n</think>\n\n1", "one"):
        last = store.load_conversation(conversation_id).turns[-1]
        replaced = last if last.role == "assistant" else None
        writer = store.begin_reply(conversation_id, "Tiny", replaced)
        writer.append(text)
        last = store.finish_reply(writer, STATS)
    store.show_version(conversation_id, last, -1)
    store.pin_conversation(conversation_id, True)
    store.move_conversation(conversation_id, "Work")
    return store.load_tree(conversation_id)


def without_ids(tree: ConversationTree) -> tuple[object, ...]:
    """What must survive: the database gives ids anew."""
    order = {turn.turn_id: number for number, turn in enumerate(tree.turns)}

    def renumbered(turn: Turn) -> Turn:
        parent = None if turn.parent_id is None else order[turn.parent_id]
        return replace(turn, turn_id=order[turn.turn_id], parent_id=parent)

    shown = tuple(order[turn.turn_id] for turn in tree.conversation.turns)
    value = replace(tree.conversation, conversation_id="", turns=())
    return value, tuple(map(renumbered, tree.turns)), shown, tree.is_pinned, tree.folder


def test_a_conversation_comes_back_whole(store: ChatStore, tree: ConversationTree) -> None:
    (read,) = from_json(to_json([tree]))
    again = store.load_tree(store.add_tree(read))
    assert again.conversation.conversation_id != tree.conversation.conversation_id
    assert without_ids(again) == without_ids(tree)
    assert len(store.list_conversations()) == 2


def test_markdown_has_what_is_shown(tree: ConversationTree) -> None:
    expected = """# 名字

## System prompt

Be brief.

## You

one? 🙂

## Tiny

> hm

1
"""
    assert to_markdown(tree.conversation) == expected


def test_openai_messages_are_read(store: ChatStore) -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello there"},
        {"role": "assistant", "content": "Hi."},
    ]
    (tree,) = from_json(json.dumps({"model": "x", "messages": messages}))
    loaded = store.load_conversation(store.add_tree(tree))
    assert (loaded.title, loaded.system_prompt) == ("Hello there", "Be brief.")
    assert [(turn.role, turn.content) for turn in loaded.turns] == [
        ("user", "Hello there"),
        ("assistant", "Hi."),
    ]


def test_a_list_of_messages_needs_nothing_around_it() -> None:
    """As many programs write it, with a title, or with contents in parts."""
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}]},
        {"role": "assistant", "content": "b"},
    ]
    (bare,) = from_json(json.dumps(messages))
    (titled,) = from_json(json.dumps({"title": "Mine", "messages": messages}))
    assert [turn.content for turn in bare.turns] == ["a", "b"]
    assert (bare.conversation.title, titled.conversation.title) == ("a", "Mine")


def _with_turns(*turns: dict[str, Any]) -> str:
    conversation = {"title": "t", "shown": None, "turns": list(turns)}
    document = {"format": "deepinfer-chats", "version": 1, "conversations": [conversation]}
    return json.dumps(document)


def _turn(turn_id: int, parent: int | None = None, **other: Any) -> dict[str, Any]:
    return {"id": turn_id, "parent": parent, "role": "user", "content": "x", **other}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Expecting value"),
        ("[]", "neither an export"),
        ("{}", "neither an export"),
        ('{"format": "deepinfer-chats", "version": 2}', "newer version"),
        ('{"format": "deepinfer-chats", "version": 1}', "'conversations' is missing"),
        ('{"messages": [{"role": "user"}]}', "'content' is missing"),
        ('{"messages": [{"role": "user", "content": [1]}]}', "is no text"),
        ('{"messages": [{"role": "pirate", "content": "Arr"}]}', "nobody can speak as 'pirate'"),
        ('{"messages": 7}', "not iterable"),
        (_with_turns(_turn(2, parent=1)), "does not come before"),
        (_with_turns(_turn(1, parent=1)), "does not come before"),
        (_with_turns(_turn(1), _turn(1)), "two turns 1"),
        (_with_turns(_turn(1, created="yesterday")), "yesterday"),
        (_with_turns(_turn(1, stats={"finish_reason": "stop"})), "missing"),
        (_with_turns(_turn(1, created="0001-01-01T00:00:00+12:00")), "out of range"),
        ("[" * 100_000, "recursion"),
    ],
)
def test_what_is_no_export_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ChatStoreError, match=reason) as refusal:
        from_json(text)
    assert "\n" not in refusal.value.message


def test_pinned_conversations_stand_first_and_folders_are_listed(store: ChatStore) -> None:
    ids = [store.create_conversation(name).conversation_id for name in "abc"]
    store.pin_conversation(ids[0], True)
    store.move_conversation(ids[1], "work")
    store.move_conversation(ids[2], "Ideas")
    assert [row.title for row in store.list_conversations()] == ["a", "c", "b"]
    assert [row.title for row in store.list_conversations(folder="work")] == ["b"]
    assert [row.title for row in store.list_conversations(folder="")] == ["a"]
    assert store.list_folders() == ("Ideas", "work")
    store.pin_conversation(ids[0], False)
    store.move_conversation(ids[1], "")
    assert [row.title for row in store.list_conversations()] == ["c", "b", "a"]
    assert store.list_folders() == ("Ideas",)
