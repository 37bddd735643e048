"""Files of every earlier version, made by that version's own SQL, come back whole.

The statements are copies of what was released: they must never follow `app.chat.schema`.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app.chat.presets import Preset
from app.chat.schema import UPGRADES, read_version
from app.chat.store import ChatStore
from app.core.sampling_settings import SamplingSettings

VERSION_1 = """
    CREATE TABLE conversations (
        conversation_id TEXT PRIMARY KEY,
        title TEXT NOT NULL,
        created REAL NOT NULL,
        updated REAL NOT NULL,
        system_prompt TEXT NOT NULL,
        sampling TEXT NOT NULL,
        is_deleted INTEGER NOT NULL DEFAULT 0
    );
    CREATE TABLE turns (
        turn_id INTEGER PRIMARY KEY,
        conversation_id TEXT NOT NULL REFERENCES conversations,
        role TEXT NOT NULL,
        content TEXT NOT NULL,
        created REAL NOT NULL,
        model_name TEXT NOT NULL DEFAULT '',
        stats TEXT,
        state TEXT NOT NULL DEFAULT 'complete',
        is_deleted INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX turns_by_conversation ON turns (conversation_id, is_deleted);
    INSERT INTO conversations VALUES
        ('a', '诗', 1000.5, 2000.5, 'Be brief.', '{"temperature": 0.25, "unknown": 1}', 0),
        ('gone', 'deleted', 1000.5, 1500.5, '', '{}', 1);
    INSERT INTO turns VALUES
        (1, 'a', 'user', 'Write a poem.', 1001, '', NULL, 'complete', 0),
        (2, 'a', 'assistant', 'The first try.', 1002, 'SmolLM2', NULL, 'complete', 1),
        (3, 'a', 'assistant', '床前明月光', 1003, 'SmolLM2',
            '{"finish_reason": "stop", "prompt_tokens": 9, "cached_tokens": 0,
              "completion_tokens": 7, "ttft_s": 0.5, "decode_tok_s": 42.0}', 'complete', 0),
        (4, 'a', 'user', 'Go on', 1004, '', NULL, 'complete', 0),
        (5, 'a', 'assistant', 'cut sho', 1005, 'SmolLM2', NULL, 'streaming', 0);
"""
# What was released as versions 2 to 5, and what that version then wrote.
LATER = {
    2: """
        ALTER TABLE turns ADD COLUMN parent_id INTEGER REFERENCES turns;
        ALTER TABLE conversations ADD COLUMN leaf_id INTEGER;
        UPDATE turns SET is_deleted = 0, parent_id = 1 WHERE turn_id IN (2, 3);
        UPDATE turns SET parent_id = 3 WHERE turn_id = 4;
        UPDATE turns SET parent_id = 4 WHERE turn_id = 5;
        UPDATE conversations SET leaf_id = 5 WHERE conversation_id = 'a';
        CREATE INDEX turns_by_parent ON turns (parent_id);
    """,
    3: """
        ALTER TABLE conversations ADD COLUMN is_pinned INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE conversations ADD COLUMN folder TEXT NOT NULL DEFAULT '';
        UPDATE conversations SET is_pinned = 1, folder = 'Poems' WHERE conversation_id = 'a';
    """,
    4: """
        ALTER TABLE turns ADD COLUMN attachments TEXT;
        UPDATE turns SET attachments = '[{"name": "notes.md", "text": "# Notes"}]'
            WHERE turn_id = 4;
    """,
    5: """
        CREATE TABLE presets (
            model_name TEXT PRIMARY KEY,
            system_prompt TEXT NOT NULL,
            sampling TEXT NOT NULL
        );
        INSERT INTO presets VALUES ('SmolLM2', 'Rhyme.', '{"temperature": 0.0}');
    """,
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chats.sqlite3"


def write_file(path: Path, version: int) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(VERSION_1)
        for number in range(2, version + 1):
            connection.executescript(LATER[number])
        connection.execute(f"PRAGMA user_version = {version}")
        connection.commit()


def test_every_version_stands_here() -> None:
    assert max(LATER) == len(UPGRADES)


@pytest.mark.parametrize("version", range(1, len(UPGRADES) + 1))
def test_a_file_of_an_earlier_version_comes_back_whole(path: Path, version: int) -> None:
    write_file(path, version)
    with closing(ChatStore.open(path)) as store:
        assert (store.notice, store.is_read_only) == ("", False)
        (row,) = store.list_conversations()
        assert row.title == "诗"
        assert (row.is_pinned, row.folder) == ((True, "Poems") if version >= 3 else (False, ""))
        chat = store.load_conversation("a")
        assert (chat.system_prompt, chat.sampling.temperature) == ("Be brief.", 0.25)
        assert chat.created.timestamp() == 1000.5
        contents = [turn.content for turn in chat.turns]
        assert contents == ["Write a poem.", "床前明月光", "Go on", "cut sho"]
        poem, question, last = chat.turns[1:]
        assert poem.stats is not None
        assert poem.stats.completion_tokens == 7
        assert last.is_interrupted
        names = [one.name for one in question.attachments]
        assert names == (["notes.md"] if version >= 4 else [])
        first_try = store.load_tree("a").turns
        assert "The first try." in [turn.content for turn in first_try]
        preset = store.load_preset("SmolLM2")
        expected = Preset("Rhyme.", SamplingSettings(temperature=0.0)) if version >= 5 else None
        assert preset == expected
        store.restore_conversation("gone")
        assert len(store.list_conversations()) == 2
        assert store.append_turn("a", "user", "and now?").content == "and now?"
    with closing(sqlite3.connect(path)) as connection:
        assert read_version(connection) == len(UPGRADES)


@pytest.mark.parametrize("version", range(1, len(UPGRADES) + 1))
def test_an_upgraded_file_has_the_tables_of_a_new_one(path: Path, version: int) -> None:
    def columns(file: Path) -> dict[str, set[tuple[object, ...]]]:
        with closing(ChatStore.open(file)), closing(sqlite3.connect(file)) as connection:
            names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master")]
            return {
                name: set(connection.execute("SELECT * FROM pragma_table_info(?)", (name,)))
                for name in names
            }

    write_file(path, version)
    assert columns(path) == columns(path.with_name("new.sqlite3"))
