"""The tables of the conversations' database, version by version."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Upgrade = Callable[[sqlite3.Connection], None]


def _create_tables(connection: sqlite3.Connection) -> None:
    """Version 1. Times are seconds since 1970, UTC; `sampling` and `stats` are JSON objects.

    A turn's `state` is complete, streaming (being written by a running program) or interrupted.
    """
    connection.execute(
        """CREATE TABLE conversations (
            conversation_id TEXT PRIMARY KEY,
            title TEXT NOT NULL,
            created REAL NOT NULL,
            updated REAL NOT NULL,
            system_prompt TEXT NOT NULL,
            sampling TEXT NOT NULL,
            is_deleted INTEGER NOT NULL DEFAULT 0
        )"""
    )
    connection.execute(
        """CREATE TABLE turns (
            turn_id INTEGER PRIMARY KEY,
            conversation_id TEXT NOT NULL REFERENCES conversations,
            role TEXT NOT NULL,
            content TEXT NOT NULL,
            created REAL NOT NULL,
            model_name TEXT NOT NULL DEFAULT '',
            stats TEXT,
            state TEXT NOT NULL DEFAULT 'complete',
            is_deleted INTEGER NOT NULL DEFAULT 0
        )"""
    )
    connection.execute("CREATE INDEX turns_by_conversation ON turns (conversation_id, is_deleted)")


def _let_turns_have_versions(connection: sqlite3.Connection) -> None:
    """Version 2. A turn follows its parent; versions of a turn have the same one. `leaf_id` is the
    end of the path that is shown.

    What version 1 hid were replies that were made again: they come back as versions.
    """
    connection.execute("ALTER TABLE turns ADD COLUMN parent_id INTEGER REFERENCES turns")
    connection.execute("ALTER TABLE conversations ADD COLUMN leaf_id INTEGER")
    connection.execute(
        """UPDATE turns SET parent_id = (
            SELECT max(before.turn_id) FROM turns AS before
            WHERE before.conversation_id = turns.conversation_id
                AND before.is_deleted = 0 AND before.turn_id < turns.turn_id)"""
    )
    connection.execute(
        """UPDATE conversations SET leaf_id = (
            SELECT max(turn_id) FROM turns
            WHERE turns.conversation_id = conversations.conversation_id AND is_deleted = 0)"""
    )
    connection.execute("UPDATE turns SET is_deleted = 0 WHERE content <> ''")
    connection.execute("CREATE INDEX turns_by_parent ON turns (parent_id)")


def _let_conversations_be_ordered(connection: sqlite3.Connection) -> None:
    """Version 3. Pinned conversations stand first; `folder` is a name, '' for none."""
    connection.execute("ALTER TABLE conversations ADD COLUMN is_pinned INTEGER NOT NULL DEFAULT 0")
    connection.execute("ALTER TABLE conversations ADD COLUMN folder TEXT NOT NULL DEFAULT ''")


def _let_turns_have_attachments(connection: sqlite3.Connection) -> None:
    """Version 4. A JSON list of objects `name` and `text`, or NULL."""
    connection.execute("ALTER TABLE turns ADD COLUMN attachments TEXT")


def _let_models_have_presets(connection: sqlite3.Connection) -> None:
    """Version 5. What new conversations with a model begin with; `sampling` is a JSON object."""
    connection.execute(
        """CREATE TABLE presets (
            model_name TEXT PRIMARY KEY,
            system_prompt TEXT NOT NULL,
            sampling TEXT NOT NULL
        )"""
    )


# `UPGRADES[n]` takes a database from version n to n + 1; never change one that was released.
UPGRADES: tuple[Upgrade, ...] = (
    _create_tables,
    _let_turns_have_versions,
    _let_conversations_be_ordered,
    _let_turns_have_attachments,
    _let_models_have_presets,
)


def read_version(connection: sqlite3.Connection) -> int:
    """The schema version of this file; 0 for an empty one."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def upgrade(connection: sqlite3.Connection, upgrades: tuple[Upgrade, ...] = UPGRADES) -> None:
    """Runs the missing upgrades in one transaction: all or none."""
    with transaction(connection):
        for number in range(read_version(connection), len(upgrades)):
            upgrades[number](connection)
            connection.execute(f"PRAGMA user_version = {number + 1}")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Takes the write lock at once, so that a second writer waits instead of failing half way.

    Nothing stays open, whatever refuses: the block, the commit, or SQLite, which rolls back itself
    where the disk is full.
    """
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        yield
