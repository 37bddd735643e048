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


# `UPGRADES[n]` takes a database from version n to n + 1; never change one that was released.
UPGRADES: tuple[Upgrade, ...] = (_create_tables,)


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
    """Takes the write lock at once, so that a second writer waits instead of failing half way."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
