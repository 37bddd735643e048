"""Conversations survive: what is written comes back, also after kills, damage and upgrades."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.chat.database import connect
from app.chat.rows import from_json, to_json
from app.chat.schema import transaction
from app.chat.store import ChatStore
from app.chat.transcript import TurnStats
from app.core.errors import ChatStoreError
from app.core.sampling_settings import SamplingSettings

STATS = TurnStats("stop", 12, 4, 3, 0.25, 40.5)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some folder 对话" / "chats.sqlite3"


@pytest.fixture
def store(path: Path) -> Iterator[ChatStore]:
    with closing(ChatStore.open(path)) as opened:
        yield opened


def execute(path: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement).fetchall()


def test_a_conversation_comes_back_whole(path: Path) -> None:
    sampling = SamplingSettings(temperature=0.1, top_k=40, seed=7, stop=("###", "用户:"))
    with closing(ChatStore.open(path)) as store:
        created = store.create_conversation("名字", system_prompt="Be brief.", sampling=sampling)
        user = store.append_turn(created.conversation_id, "user", "Hello 🙂")
        writer = store.begin_reply(created.conversation_id, "SmolLM2")
        for piece in ("Hi", " ", "there."):
            writer.append(piece)
        reply = store.finish_reply(writer, STATS)
    with closing(ChatStore.open(path)) as store:
        assert store.notice == ""
        loaded = store.load_conversation(created.conversation_id)
    assert (loaded.title, loaded.system_prompt, loaded.sampling) == ("名字", "Be brief.", sampling)
    assert loaded.turns == (user, reply)
    assert (reply.role, reply.content, reply.model_name) == ("assistant", "Hi there.", "SmolLM2")
    assert (reply.stats, reply.is_interrupted) == (STATS, False)


def test_settings_are_kept_in_the_words_that_older_versions_wrote() -> None:
    settings = SamplingSettings(temperature=0.1, top_k=40, seed=7, stop=("###", "用户:"))
    written = (
        '{"temperature": 0.1, "top_k": 40, "top_p": 1.0, "min_p": 0.0, "repetition_penalty": 1.0, '
        '"presence_penalty": 0.0, "frequency_penalty": 0.0, "seed": 7, "max_tokens": null, '
        '"stop": ["###", "用户:"]}'
    )
    assert to_json(settings) == written
    assert from_json(SamplingSettings, written) == settings


def test_list_is_latest_first(store: ChatStore) -> None:
    old, new = store.create_conversation("old"), store.create_conversation("new")
    assert [row.title for row in store.list_conversations()] == ["new", "old"]
    store.append_turn(old.conversation_id, "user", "again")
    rows = store.list_conversations()
    assert [row.conversation_id for row in rows] == [old.conversation_id, new.conversation_id]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", 2),
        ("LLAMA", 1),
        ("驼", 1),
        ("100%", 1),
        ("%", 1),
        ("_", 0),
        ("  alpaca ", 1),
        ("über", 1),
        ("ПРИВЕТ", 1),
        ("οδυσσεασ", 1),
        ("STRASSE", 1),
        ("nothing", 0),
    ],
)
def test_search_looks_in_titles_and_contents(store: ChatStore, query: str, found: int) -> None:
    first = store.create_conversation("About llamas 羊驼")
    store.append_turn(first.conversation_id, "user", "the same 100% as ever")
    second = store.create_conversation("Alpacas")
    store.append_turn(second.conversation_id, "user", "ÜBER привет Ὀδυσσέας ΟΔΥΣΣΕΑΣ Straße")
    assert len(store.list_conversations(query)) == found


def test_delete_can_be_undone(store: ChatStore) -> None:
    kept = store.create_conversation("kept")
    store.append_turn(kept.conversation_id, "user", "text")
    store.delete_conversation(kept.conversation_id)
    assert store.list_conversations() == ()
    store.restore_conversation(kept.conversation_id)
    assert [row.title for row in store.list_conversations()] == ["kept"]
    assert len(store.load_conversation(kept.conversation_id).turns) == 1


def test_settings_of_a_conversation_can_change(store: ChatStore) -> None:
    conversation_id = store.create_conversation("before").conversation_id
    store.rename_conversation(conversation_id, "after")
    store.set_system_prompt(conversation_id, "You are a pirate.")
    store.set_sampling(conversation_id, SamplingSettings(min_p=0.05))
    loaded = store.load_conversation(conversation_id)
    assert (loaded.title, loaded.system_prompt) == ("after", "You are a pirate.")
    assert loaded.sampling == SamplingSettings(min_p=0.05)


def test_missing_conversation_is_one_sentence(store: ChatStore) -> None:
    with pytest.raises(ChatStoreError, match="does not exist"):
        store.load_conversation("no such id")


def test_reply_without_text_is_discarded(store: ChatStore) -> None:
    conversation_id = store.create_conversation().conversation_id
    store.discard_reply(store.begin_reply(conversation_id, "SmolLM2"))
    assert store.load_conversation(conversation_id).turns == ()


def test_reply_of_a_dead_worker_is_interrupted(store: ChatStore) -> None:
    conversation_id = store.create_conversation().conversation_id
    writer = store.begin_reply(conversation_id, "SmolLM2")
    writer.append("half a sen")
    turn = store.finish_reply(writer, None)
    assert (turn.content, turn.is_interrupted, turn.stats) == ("half a sen", True, None)


def test_fields_of_other_versions_do_not_hide_a_conversation(store: ChatStore, path: Path) -> None:
    conversation_id = store.create_conversation("kept").conversation_id
    execute(path, """UPDATE conversations SET sampling = '{"top_k": 5, "future_field": [1]}'""")
    assert store.load_conversation(conversation_id).sampling == SamplingSettings(top_k=5)
    execute(path, "UPDATE conversations SET sampling = 'not JSON'")
    assert store.load_conversation(conversation_id).sampling == SamplingSettings()


@pytest.mark.parametrize("text", [None, "", "null", "[]", "{", '{"finish_reason": "stop"}'])
def test_unreadable_statistics_are_none(text: str | None) -> None:
    assert from_json(TurnStats, text) is None


def test_writing_fails_in_one_sentence_when_the_file_is_locked(
    store: ChatStore, path: Path
) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(ChatStoreError, match="database is locked"):
            store.create_conversation("never")
        other.execute("ROLLBACK")
    assert store.create_conversation("now").title == "now"


# --- what SQLite refuses ------------------------------------------------------------------------


def test_a_write_that_does_not_fit_leaves_no_transaction_open(store: ChatStore) -> None:
    """SQLite may have rolled back by itself: the reason is told, and the next write works."""
    connection = store._connection
    kept = store.create_conversation("kept")
    (num_pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {num_pages + 2}")
    with pytest.raises(ChatStoreError, match="full"):
        store.append_turn(kept.conversation_id, "user", "x" * 1_000_000)
    assert not connection.in_transaction
    connection.execute("PRAGMA max_page_count = 100000")
    store.append_turn(kept.conversation_id, "user", "fits")
    (turn,) = store.load_conversation(kept.conversation_id).turns
    assert turn.content == "fits"


def test_a_commit_that_is_refused_leaves_no_transaction_open(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "any.sqlite3")) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("CREATE TABLE parents (id INTEGER PRIMARY KEY)")
        connection.execute(
            "CREATE TABLE children "
            "(parent INTEGER REFERENCES parents DEFERRABLE INITIALLY DEFERRED)"
        )
        with pytest.raises(sqlite3.IntegrityError), transaction(connection):
            connection.execute("INSERT INTO children VALUES (1)")
        assert not connection.in_transaction
        with transaction(connection):
            connection.execute("INSERT INTO parents VALUES (1)")
        assert connection.execute("SELECT count(*) FROM children").fetchone() == (0,)
