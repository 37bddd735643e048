"""The turns of a conversation are a tree: an edited message and a reply made again are versions.

Versions have the same parent. A conversation shows one path, from its `leaf_id` up to the root.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from app.chat.rows import attachments_to_json, to_json, turn_from_row
from app.chat.transcript import Turn

_SIBLINGS = """turns AS s WHERE s.conversation_id = t.conversation_id
    AND s.parent_id IS t.parent_id AND s.is_deleted = 0"""
_TURN = f"""t.turn_id, t.role, t.content, t.created, t.model_name, t.stats, t.state, t.parent_id,
    t.attachments,
    (SELECT count(*) FROM {_SIBLINGS} AND s.turn_id <= t.turn_id) AS version,
    (SELECT count(*) FROM {_SIBLINGS}) AS num_versions"""


def read_turn(connection: sqlite3.Connection, turn_id: int) -> Turn:
    """One turn."""
    row = connection.execute(
        f"SELECT {_TURN} FROM turns AS t WHERE t.turn_id = ?", (turn_id,)
    ).fetchone()
    return turn_from_row(row)


def read_path(connection: sqlite3.Connection, conversation_id: str) -> tuple[Turn, ...]:
    """The turns that are shown, in the order they were said."""
    rows = connection.execute(
        f"""WITH RECURSIVE path(turn_id, parent_id, depth) AS (
            SELECT t.turn_id, t.parent_id, 0 FROM conversations AS c
                JOIN turns AS t ON t.turn_id = c.leaf_id WHERE c.conversation_id = ?
            UNION ALL SELECT t.turn_id, t.parent_id, path.depth + 1
                FROM path JOIN turns AS t ON t.turn_id = path.parent_id)
        SELECT {_TURN} FROM path JOIN turns AS t ON t.turn_id = path.turn_id
        WHERE t.is_deleted = 0 ORDER BY path.depth DESC""",
        (conversation_id,),
    ).fetchall()
    return tuple(turn_from_row(row) for row in rows)


def read_all(connection: sqlite3.Connection, conversation_id: str) -> tuple[Turn, ...]:
    """Every version of every turn that is saved whole or in part, parents first."""
    rows = connection.execute(
        f"""SELECT {_TURN} FROM turns AS t
        WHERE t.conversation_id = ? AND t.is_deleted = 0
            AND (t.content <> '' OR t.state <> 'streaming') ORDER BY t.turn_id""",
        (conversation_id,),
    ).fetchall()
    return tuple(turn_from_row(row) for row in rows)


def insert_all(
    connection: sqlite3.Connection, conversation_id: str, turns: Sequence[Turn]
) -> dict[int | None, int]:
    """Saves turns, parents first, under new ids, which it returns by their old ones."""
    ids: dict[int | None, int] = {}
    for turn in turns:
        cursor = connection.execute(
            """INSERT INTO turns
            (conversation_id, parent_id, role, content, created, model_name, stats, attachments,
                state)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            (
                conversation_id,
                ids.get(turn.parent_id),
                turn.role,
                turn.content,
                turn.created.timestamp(),
                turn.model_name,
                to_json(turn.stats) if turn.stats else None,
                attachments_to_json(turn.attachments),
                "interrupted" if turn.is_interrupted else "complete",
            ),
        )
        assert cursor.lastrowid is not None
        ids[turn.turn_id] = cursor.lastrowid
    return ids


def read_leaf(connection: sqlite3.Connection, conversation_id: str) -> int | None:
    """The end of the path that is shown; None for a conversation without turns."""
    row = connection.execute(
        "SELECT leaf_id FROM conversations WHERE conversation_id = ?", (conversation_id,)
    ).fetchone()
    return None if row is None else row[0]


def set_leaf(connection: sqlite3.Connection, conversation_id: str, turn_id: int | None) -> None:
    """Shows the path to this turn."""
    connection.execute(
        "UPDATE conversations SET leaf_id = ? WHERE conversation_id = ?", (turn_id, conversation_id)
    )


def leave_hidden_ends(connection: sqlite3.Connection) -> None:
    """Paths that end in a hidden turn end in its latest version instead, or before it."""
    connection.execute(
        """UPDATE conversations SET leaf_id = (
            SELECT coalesce(
                (SELECT max(s.turn_id) FROM turns AS s
                    WHERE s.conversation_id = t.conversation_id
                        AND s.parent_id IS t.parent_id AND s.is_deleted = 0),
                t.parent_id)
            FROM turns AS t WHERE t.turn_id = leaf_id)
        WHERE leaf_id IN (SELECT turn_id FROM turns WHERE is_deleted = 1)"""
    )


@dataclass(frozen=True, slots=True)
class DeletedTurn:
    """A turn that is hidden, and what brings it back: `children` followed it and follow `heir_id`
    now; what was shown ended in `leaf_before`, and in `leaf_after` without it. Ids of turns."""

    conversation_id: str
    turn_id: int
    children: tuple[int, ...]
    heir_id: int | None
    leaf_before: int | None
    leaf_after: int | None


def hide_turn(connection: sqlite3.Connection, conversation_id: str, turn_id: int) -> DeletedTurn:
    """What followed the turn follows another version of it, or what it followed itself."""
    parent_id, version_id = connection.execute(
        f"""SELECT t.parent_id, coalesce(
            (SELECT max(s.turn_id) FROM {_SIBLINGS} AND s.turn_id < t.turn_id),
            (SELECT min(s.turn_id) FROM {_SIBLINGS} AND s.turn_id > t.turn_id))
        FROM turns AS t WHERE t.turn_id = ?""",
        (turn_id,),
    ).fetchone()
    heir_id = parent_id if version_id is None else version_id
    rows = connection.execute("SELECT turn_id FROM turns WHERE parent_id = ?", (turn_id,))
    children = tuple(child for (child,) in rows.fetchall())
    before = after = read_leaf(connection, conversation_id)
    if before == turn_id:
        after = parent_id if version_id is None else newest_end(connection, version_id)
    connection.execute("UPDATE turns SET parent_id = ? WHERE parent_id = ?", (heir_id, turn_id))
    connection.execute("UPDATE turns SET is_deleted = 1 WHERE turn_id = ?", (turn_id,))
    set_leaf(connection, conversation_id, after)
    return DeletedTurn(conversation_id, turn_id, children, heir_id, before, after)


def show_turn(connection: sqlite3.Connection, deleted: DeletedTurn) -> None:
    """Undoes `hide_turn`; what has been said since stays shown, the turn is a version then."""
    connection.execute("UPDATE turns SET is_deleted = 0 WHERE turn_id = ?", (deleted.turn_id,))
    for child in deleted.children:
        connection.execute(
            "UPDATE turns SET parent_id = ? WHERE turn_id = ? AND parent_id IS ?",
            (deleted.turn_id, child, deleted.heir_id),
        )
    if read_leaf(connection, deleted.conversation_id) == deleted.leaf_after:
        set_leaf(connection, deleted.conversation_id, deleted.leaf_before)


def other_version(connection: sqlite3.Connection, turn: Turn, steps: int) -> int:
    """The turn `steps` versions behind this one (before it, where negative); its own at the end."""
    rows = connection.execute(
        f"SELECT s.turn_id FROM turns AS t JOIN {_SIBLINGS} AND t.turn_id = ? ORDER BY s.turn_id",
        (turn.turn_id,),
    ).fetchall()
    position = turn.version - 1 + steps
    return int(rows[min(max(position, 0), len(rows) - 1)][0])


def find_latest(connection: sqlite3.Connection, conversation_id: str, folded: str) -> int | None:
    """The latest turn whose text holds `folded`, as the connection's function `holds` says."""
    (turn_id,) = connection.execute(
        """SELECT max(turn_id) FROM turns
        WHERE conversation_id = ? AND is_deleted = 0 AND holds(content, ?)""",
        (conversation_id, folded),
    ).fetchone()
    return None if turn_id is None else int(turn_id)


def newest_end(connection: sqlite3.Connection, turn_id: int) -> int:
    """The leaf below a turn that is reached by its latest versions."""
    (leaf_id,) = connection.execute(
        """WITH RECURSIVE down(turn_id) AS (
            VALUES (:turn_id)
            UNION ALL SELECT (SELECT max(t.turn_id) FROM turns AS t
                WHERE t.parent_id = down.turn_id AND t.is_deleted = 0) AS child
                FROM down WHERE child IS NOT NULL)
        SELECT max(turn_id) FROM down""",
        {"turn_id": turn_id},
    ).fetchone()
    return int(leaf_id)
