"""The program starts whatever state the conversations' file is in, and loses nothing of it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app.chat.database import connect
from app.chat.schema import UPGRADES, read_version, upgrade
from app.chat.store import ChatStore
from app.chat.transcript import TurnStats
from app.core.errors import ChatStoreError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chats.sqlite3"


def fill(path: Path, num_conversations: int = 1) -> None:
    with closing(ChatStore.open(path)) as store:
        for number in range(num_conversations):
            conversation = store.create_conversation(f"conversation {number}")
            store.append_turn(conversation.conversation_id, "user", "text " * 200)


def assert_starts_anew_and_names_the_old(path: Path) -> None:
    content = path.read_bytes()
    with closing(ChatStore.open(path)) as store:
        assert store.list_conversations() == ()
        store.create_conversation("after the damage")
        (aside,) = path.parent.glob("*.damaged-*.sqlite3")
        assert aside.name in store.notice
        assert str(path) in store.notice
    assert aside.read_bytes() == content
    with closing(ChatStore.open(path)) as store:
        assert store.notice == ""
        assert [row.title for row in store.list_conversations()] == ["after the damage"]


def test_not_a_database(path: Path) -> None:
    path.write_bytes(b"this was a database once" * 100)
    assert_starts_anew_and_names_the_old(path)


def test_truncated_database(path: Path) -> None:
    fill(path, 50)
    path.write_bytes(path.read_bytes()[:-9000])
    assert_starts_anew_and_names_the_old(path)


def test_overwritten_pages(path: Path) -> None:
    fill(path, 50)
    content = bytearray(path.read_bytes())
    content[4096:12288] = b"\xff" * 8192
    path.write_bytes(content)
    assert_starts_anew_and_names_the_old(path)


def test_tables_missing(path: Path) -> None:
    fill(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE turns")
    assert_starts_anew_and_names_the_old(path)


@pytest.mark.parametrize(
    "damage",
    [
        "DROP TABLE presets",
        "ALTER TABLE conversations DROP COLUMN leaf_id",
        "ALTER TABLE turns DROP COLUMN attachments",
    ],
)
def test_what_is_needed_only_later_is_missing(path: Path, damage: str) -> None:
    """Found at the start, not by the first message."""
    fill(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(damage)
    assert_starts_anew_and_names_the_old(path)


def test_a_notice_is_one_line(path: Path) -> None:
    fill(path, 50)
    content = bytearray(path.read_bytes())
    content[5 * 4096 : 6 * 4096] = bytes(4096)
    path.write_bytes(content)
    with closing(ChatStore.open(path)) as store:
        assert "is damaged" in store.notice
        assert "\n" not in store.notice


def test_an_empty_file_was_a_database_once(path: Path) -> None:
    path.touch()
    assert_starts_anew_and_names_the_old(path)


@pytest.mark.parametrize("keeps_file", [True, False])
def test_a_log_without_its_database_is_kept(path: Path, keeps_file: bool) -> None:
    """SQLite would throw it away with a new database; its pages may be all that is left."""
    with closing(ChatStore.open(path)) as store:
        store.create_conversation("in the log")
        log = path.with_name(path.name + "-wal").read_bytes()
    if keeps_file:
        path.write_bytes(b"")
    else:
        path.unlink()
    path.with_name(path.name + "-wal").write_bytes(log)
    with closing(ChatStore.open(path)) as store:
        assert "is damaged" in store.notice
        assert store.list_conversations() == ()
    (aside,) = path.parent.glob("*.damaged-*.sqlite3-wal")
    assert aside.read_bytes() == log


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
def test_a_folder_in_its_place_is_set_aside(path: Path, suffix: str) -> None:
    folder = path.with_name(path.name + suffix)
    folder.mkdir()
    (folder / "something").write_text("of somebody")
    with closing(ChatStore.open(path)) as store:
        assert "a folder is in its place" in store.notice
        store.create_conversation("after the folder")
    (kept,) = path.parent.glob("*/something")
    assert kept.parent.name.startswith("chats.damaged-")
    with closing(ChatStore.open(path)) as store:
        assert store.notice == ""
        assert [row.title for row in store.list_conversations()] == ["after the folder"]


@pytest.mark.parametrize("rubbish", [b"\x00", bytes(4096), b"rubbish " * 9000])
def test_a_log_that_is_none_is_kept_and_named(path: Path, rubbish: bytes) -> None:
    """SQLite drops it without a word, and with it what was not in the database yet."""
    fill(path)
    path.with_name(path.name + "-wal").write_bytes(rubbish)
    with closing(ChatStore.open(path)) as store:
        assert [row.title for row in store.list_conversations()] == ["conversation 0"]
        assert "may be missing" in store.notice
        assert not store.is_read_only
        store.create_conversation("afterwards")
    (aside,) = path.parent.glob("*.damaged-*")
    assert aside.read_bytes() == rubbish
    with closing(ChatStore.open(path)) as store:
        assert store.notice == ""


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.9])
def test_a_log_that_was_cut_off_loses_its_end_alone(path: Path, keep: float) -> None:
    with closing(ChatStore.open(path)) as store:
        for number in range(20):
            store.create_conversation(f"conversation {number}")
        database = path.read_bytes()
        log = path.with_name(path.name + "-wal").read_bytes()
    path.write_bytes(database)
    path.with_name(path.name + "-wal").write_bytes(log[: int(keep * len(log))])
    with closing(ChatStore.open(path)) as store:
        titles = {row.title for row in store.list_conversations()}
        assert titles == {f"conversation {number}" for number in range(len(titles))}
        store.create_conversation("afterwards")
    assert bool(titles) == (keep > 0)


def test_newer_version_is_read_and_never_written(path: Path) -> None:
    fill(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("ALTER TABLE turns ADD COLUMN of_the_future TEXT")
        connection.execute(f"PRAGMA user_version = {len(UPGRADES) + 1}")
    with closing(ChatStore.open(path)) as store:
        assert store.is_read_only
        assert "newer version" in store.notice
        (row,) = store.list_conversations()
        assert len(store.load_conversation(row.conversation_id).turns) == 1
        with pytest.raises(ChatStoreError, match="newer version"):
            store.append_turn(row.conversation_id, "user", "lost?")
        with pytest.raises(ChatStoreError, match="newer version"):
            store.begin_reply(row.conversation_id, "SmolLM2")
    with closing(connect(path)) as connection:
        assert read_version(connection) == len(UPGRADES) + 1


def test_folder_that_cannot_be_made_still_starts(tmp_path: Path) -> None:
    (tmp_path / "a file").touch()
    path = tmp_path / "a file" / "chats.sqlite3"
    with closing(ChatStore.open(path)) as store:
        assert "will not be saved" in store.notice
        conversation_id = store.create_conversation("only for now").conversation_id
        writer = store.begin_reply(conversation_id, "SmolLM2")
        writer.append("text")
        assert store.finish_reply(writer, None).content == "text"
    assert list(tmp_path.iterdir()) == [tmp_path / "a file"]


def test_replies_of_a_killed_program_are_interrupted(path: Path) -> None:
    fill(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            """INSERT INTO turns (conversation_id, parent_id, role, content, created, state)
            SELECT conversation_id, leaf_id, 'assistant', 'saved so far', 0, 'streaming'
                FROM conversations
            UNION ALL SELECT conversation_id, leaf_id, 'assistant', '', 0, 'streaming'
                FROM conversations"""
        )
        connection.execute("UPDATE conversations SET leaf_id = (SELECT max(turn_id) FROM turns)")
    with closing(ChatStore.open(path)) as store:
        (row,) = store.list_conversations()
        _, reply = store.load_conversation(row.conversation_id).turns
    assert (reply.content, reply.is_interrupted) == ("saved so far", True)


def test_a_second_program_does_not_disturb_a_running_reply(path: Path) -> None:
    with closing(ChatStore.open(path)) as store:
        conversation_id = store.create_conversation().conversation_id
        writer = store.begin_reply(conversation_id, "SmolLM2")
        with closing(ChatStore.open(path)) as second:
            assert second.load_conversation(conversation_id).turns == ()
        writer.append("all of it")
        store.finish_reply(writer, TurnStats("stop", 1, 0, 2, 0.1, 9.0))
        (turn,) = store.load_conversation(conversation_id).turns
    assert (turn.content, turn.is_interrupted) == ("all of it", False)


def test_database_that_another_program_locks_still_starts(path: Path) -> None:
    fill(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with closing(ChatStore.open(path)) as store:
            assert "database is locked" in store.notice
            assert store.list_conversations() == ()
            store.create_conversation("only for now")
    with closing(ChatStore.open(path)) as store:
        assert [row.title for row in store.list_conversations()] == ["conversation 0"]


def _add_colour(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE conversations ADD COLUMN colour TEXT NOT NULL DEFAULT ''")


def _fail(connection: sqlite3.Connection) -> None:
    connection.execute("DROP TABLE turns")
    raise sqlite3.OperationalError("the upgrade failed half way")


def test_upgrade_keeps_what_is_there(path: Path) -> None:
    fill(path)
    with closing(connect(path)) as connection:
        upgrade(connection, (*UPGRADES, _add_colour))
        assert read_version(connection) == len(UPGRADES) + 1
        assert connection.execute("SELECT title, colour FROM conversations").fetchall() == [
            ("conversation 0", "")
        ]


def test_failed_upgrade_changes_nothing(path: Path) -> None:
    fill(path)
    with closing(connect(path)) as connection:
        with pytest.raises(sqlite3.OperationalError, match="half way"):
            upgrade(connection, (*UPGRADES, _add_colour, _fail))
        assert read_version(connection) == len(UPGRADES)
    with closing(ChatStore.open(path)) as store:
        assert len(store.list_conversations()) == 1
