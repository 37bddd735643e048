"""Where conversations are kept: one SQLite database, crash safe while a reply streams."""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from app.chat import turn_tree
from app.chat.attachments import Attachment
from app.chat.database import OpenedDatabase, open_database
from app.chat.documents import ConversationTree
from app.chat.presets import Preset, read_preset, write_preset
from app.chat.reply_writer import ReplyWriter
from app.chat.rows import (
    CONVERSATION_COLUMNS,
    attachments_to_json,
    conversation_from_row,
    summary_from_row,
    to_json,
)
from app.chat.schema import transaction
from app.chat.transcript import Conversation, ConversationSummary, Turn, TurnRole, TurnStats
from app.chat.turn_tree import DeletedTurn
from app.core.errors import ChatStoreError
from app.core.sampling_settings import SamplingSettings


class ChatStore:
    """The open database, for one thread. Every method raises ChatStoreError when SQLite refuses.

    `notice` is a sentence for the user (file set aside, read-only, not saved) or ''.
    Deleting hides: rows stay, so that `restore_conversation` can bring them back.
    """

    def __init__(self, database: OpenedDatabase) -> None:
        self._database = database
        self._connection = database.connection
        self._connection.row_factory = sqlite3.Row
        self._connection.create_function("holds", 2, _holds, deterministic=True)

    @classmethod
    def open(cls, path: Path) -> ChatStore:
        """Opens or creates the database; a damaged one is renamed and named in `notice`."""
        return cls(open_database(path))

    @property
    def notice(self) -> str:
        """What the user should know about how the database was opened; '' when all is well."""
        return self._database.notice

    @property
    def is_read_only(self) -> bool:
        """Whether a newer version wrote it: then everything that writes is refused."""
        return self._database.is_read_only

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()
        if self._database.scratch is not None:
            self._database.scratch.cleanup()

    # --- reading -----------------------------------------------------------------------------

    def list_conversations(
        self, query: str = "", folder: str | None = None
    ) -> tuple[ConversationSummary, ...]:
        """Pinned ones first, then the latest; `query` is looked for in titles and contents, case
        ignored, in a `folder` or, with None, everywhere."""
        with _translated_errors():
            rows = self._connection.execute(
                """SELECT conversation_id, title, updated, is_pinned, folder
                FROM conversations AS c
                WHERE is_deleted = 0 AND (:folder IS NULL OR folder = :folder)
                AND (:query = '' OR holds(title, :query) OR EXISTS
                    (SELECT 1 FROM turns AS t WHERE t.conversation_id = c.conversation_id
                     AND t.is_deleted = 0 AND holds(t.content, :query)))
                ORDER BY is_pinned DESC, updated DESC, rowid DESC""",
                {"query": _folded(query), "folder": folder},
            ).fetchall()
        return tuple(summary_from_row(row) for row in rows)

    def list_folders(self) -> tuple[str, ...]:
        """The folders that hold a conversation, by name."""
        with _translated_errors():
            rows = self._connection.execute(
                """SELECT DISTINCT folder FROM conversations
                WHERE is_deleted = 0 AND folder <> '' ORDER BY folder COLLATE NOCASE"""
            ).fetchall()
        return tuple(row["folder"] for row in rows)

    def load_conversation(self, conversation_id: str) -> Conversation:
        """A conversation as last shown; raises ChatStoreError for an id that is not there."""
        with _translated_errors():
            row = self._connection.execute(
                f"SELECT {CONVERSATION_COLUMNS} FROM conversations WHERE conversation_id = ?",
                (conversation_id,),
            ).fetchone()
            turns = turn_tree.read_path(self._connection, conversation_id)
        if row is None:
            raise ChatStoreError("This conversation does not exist any more.")
        return conversation_from_row(row, turns)

    def load_tree(self, conversation_id: str) -> ConversationTree:
        """A conversation with every version of its turns; raises as `load_conversation`."""
        conversation = self.load_conversation(conversation_id)
        with _translated_errors():
            turns = turn_tree.read_all(self._connection, conversation_id)
            row = self._connection.execute(
                "SELECT is_pinned, folder FROM conversations WHERE conversation_id = ?",
                (conversation_id,),
            ).fetchone()
        return ConversationTree(conversation, turns, bool(row["is_pinned"]), row["folder"])

    def _load_turn(self, turn_id: int) -> Turn:
        with _translated_errors():
            return turn_tree.read_turn(self._connection, turn_id)

    # --- conversations -----------------------------------------------------------------------

    def create_conversation(
        self,
        title: str = "",
        *,
        system_prompt: str = "",
        sampling: SamplingSettings | None = None,
        conversation_id: str | None = None,
    ) -> Conversation:
        """A new, empty conversation; `conversation_id` when the caller has promised one already."""
        new_id = conversation_id or create_conversation_id()
        now = time.time()
        self._write(
            f"INSERT INTO conversations ({CONVERSATION_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)",
            (new_id, title, now, now, system_prompt, to_json(sampling or SamplingSettings())),
        )
        return self.load_conversation(new_id)

    def add_tree(self, tree: ConversationTree) -> str:
        """Saves a conversation of somewhere else under a new id, which it returns."""
        new_id, value = create_conversation_id(), tree.conversation
        with self._writing():
            self._connection.execute(
                f"INSERT INTO conversations ({CONVERSATION_COLUMNS}, is_pinned, folder) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    new_id,
                    value.title,
                    value.created.timestamp(),
                    value.updated.timestamp(),
                    value.system_prompt,
                    to_json(value.sampling),
                    tree.is_pinned,
                    tree.folder,
                ),
            )
            ids = turn_tree.insert_all(self._connection, new_id, tree.turns)
            shown = (turn.turn_id for turn in reversed(value.turns) if turn.turn_id in ids)
            turn_tree.set_leaf(self._connection, new_id, ids.get(next(shown, None)))
        return new_id

    def rename_conversation(self, conversation_id: str, title: str) -> None:
        """Gives it another title."""
        self._set(conversation_id, "title", title)

    def pin_conversation(self, conversation_id: str, is_pinned: bool) -> None:
        """Keeps it above all others, or not any more."""
        self._set(conversation_id, "is_pinned", int(is_pinned))

    def move_conversation(self, conversation_id: str, folder: str) -> None:
        """Puts it into a folder; '' takes it out."""
        self._set(conversation_id, "folder", folder)

    def delete_conversation(self, conversation_id: str) -> None:
        """Hides it from the list; nothing is lost."""
        self._set(conversation_id, "is_deleted", 1)

    def restore_conversation(self, conversation_id: str) -> None:
        """Undoes `delete_conversation`."""
        self._set(conversation_id, "is_deleted", 0)

    def set_system_prompt(self, conversation_id: str, system_prompt: str) -> None:
        """What the model is told before the first turn."""
        self._set(conversation_id, "system_prompt", system_prompt)

    def set_sampling(self, conversation_id: str, sampling: SamplingSettings) -> None:
        """How the next replies are sampled."""
        self._set(conversation_id, "sampling", to_json(sampling))

    def load_preset(self, model_name: str) -> Preset | None:
        """What new conversations with a model begin with; None where nothing is kept for it."""
        with _translated_errors():
            return read_preset(self._connection, model_name)

    def save_preset(self, model_name: str, preset: Preset | None) -> None:
        """Keeps it; None forgets what was kept."""
        with self._writing():
            write_preset(self._connection, model_name, preset)

    # --- turns -------------------------------------------------------------------------------

    def append_turn(
        self,
        conversation_id: str,
        role: TurnRole,
        content: str,
        attachments: Sequence[Attachment] = (),
    ) -> Turn:
        """A whole turn behind the last one; the conversation moves to the top of the list."""
        leaf_id = self._leaf(conversation_id)
        return self._load_turn(
            self._insert_turn(conversation_id, leaf_id, role, content, attachments=attachments)
        )

    def append_version(self, conversation_id: str, turn: Turn, content: str) -> Turn:
        """Another version of a turn, with its files; what followed the others is not shown."""
        return self._load_turn(
            self._insert_turn(
                conversation_id,
                turn.parent_id,
                turn.role,
                content,
                attachments=turn.attachments,
            )
        )

    def show_version(self, conversation_id: str, turn: Turn, steps: int) -> None:
        """Shows the version `steps` behind this one (before it, where negative), and what followed
        it last."""
        with self._writing():
            found = turn_tree.other_version(self._connection, turn, steps)
            leaf_id = turn_tree.newest_end(self._connection, found)
            turn_tree.set_leaf(self._connection, conversation_id, leaf_id)

    def show_found(self, conversation_id: str, query: str) -> None:
        """Where `list_conversations` found `query` only in versions that are not shown: shows the
        latest of those, and what followed it last."""
        shown, folded = self.load_conversation(conversation_id), _folded(query)
        texts = (shown.title, *(turn.content for turn in shown.turns))
        if self.is_read_only or any(_holds(text, folded) for text in texts):
            return
        with self._writing():
            found = turn_tree.find_latest(self._connection, conversation_id, folded)
            if found is not None:
                leaf_id = turn_tree.newest_end(self._connection, found)
                turn_tree.set_leaf(self._connection, conversation_id, leaf_id)

    def delete_turn(self, conversation_id: str, turn_id: int) -> DeletedTurn:
        """Hides one turn; what followed it stays. `restore_turn` brings it back."""
        with self._writing():
            return turn_tree.hide_turn(self._connection, conversation_id, turn_id)

    def restore_turn(self, deleted: DeletedTurn) -> None:
        """Undoes `delete_turn`."""
        with self._writing():
            turn_tree.show_turn(self._connection, deleted)

    def begin_reply(
        self, conversation_id: str, model_name: str, replaced: Turn | None = None
    ) -> ReplyWriter:
        """An empty reply to stream into, behind the last turn or as another version of `replaced`;
        end it with `finish_reply` or `discard_reply`."""
        leaf_id = self._leaf(conversation_id)
        turn_id = self._insert_turn(
            conversation_id,
            replaced.parent_id if replaced else leaf_id,
            "assistant",
            "",
            state="streaming",
            model_name=model_name,
        )
        return ReplyWriter(self._database.path, turn_id, conversation_id, leaf_id)

    def continue_reply(self, conversation_id: str, turn: Turn) -> ReplyWriter:
        """More of a reply that has ended, behind what it is; end it with `finish_reply`."""
        self._write("UPDATE turns SET state = 'streaming' WHERE turn_id = ?", (turn.turn_id,))
        return ReplyWriter(self._database.path, turn.turn_id, conversation_id, turn.turn_id)

    def finish_reply(self, writer: ReplyWriter, stats: TurnStats | None) -> Turn:
        """Saves the rest of a reply; `stats` None marks it as interrupted."""
        with _translated_errors():
            writer.close()
        state = "complete" if stats else "interrupted"
        with self._writing():
            self._connection.execute(
                "UPDATE turns SET state = ?, stats = ?, is_deleted = 0 WHERE turn_id = ?",
                (state, to_json(stats) if stats else None, writer.turn_id),
            )
            # Another program that was started meanwhile took the reply for one of a killed program.
            turn_tree.set_leaf(self._connection, writer.conversation_id, writer.turn_id)
        return self._load_turn(writer.turn_id)

    def discard_reply(self, writer: ReplyWriter) -> None:
        """Removes a reply that never had a text; the conversation is shown as before it."""
        with _translated_errors():
            writer.close()
        with self._writing():
            turn_tree.set_leaf(self._connection, writer.conversation_id, writer.previous_leaf_id)
            self._connection.execute("DELETE FROM turns WHERE turn_id = ?", (writer.turn_id,))

    def _leaf(self, conversation_id: str) -> int | None:
        with _translated_errors():
            return turn_tree.read_leaf(self._connection, conversation_id)

    def _insert_turn(
        self,
        conversation_id: str,
        parent_id: int | None,
        role: TurnRole,
        content: str,
        *,
        state: str = "complete",
        model_name: str = "",
        attachments: Sequence[Attachment] = (),
    ) -> int:
        now = time.time()
        with self._writing():
            cursor = self._connection.execute(
                """INSERT INTO turns
                (conversation_id, parent_id, role, content, created, state, model_name, attachments)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)""",
                (
                    conversation_id,
                    parent_id,
                    role,
                    content,
                    now,
                    state,
                    model_name,
                    attachments_to_json(attachments),
                ),
            )
            turn_tree.set_leaf(self._connection, conversation_id, cursor.lastrowid)
            self._connection.execute(
                "UPDATE conversations SET updated = ? WHERE conversation_id = ?",
                (now, conversation_id),
            )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    # --- SQLite ------------------------------------------------------------------------------

    def _set(self, conversation_id: str, column: str, value: str | int) -> None:
        self._write(
            f"UPDATE conversations SET {column} = ? WHERE conversation_id = ?",
            (value, conversation_id),
        )

    def _write(self, statement: str, values: tuple[object, ...]) -> None:
        with self._writing():
            self._connection.execute(statement, values)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        if self.is_read_only:
            raise ChatStoreError(self.notice)
        with _translated_errors(), transaction(self._connection):
            yield


def create_conversation_id() -> str:
    """A fresh id, unique for ever."""
    return uuid.uuid4().hex


@contextmanager
def _translated_errors() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise ChatStoreError(
            "The conversations could not be read or saved: {error}.",
            error=error,
            detail=repr(error),
        ) from error


def _folded(query: str) -> str:
    return query.strip().casefold()


def _holds(text: str, folded: str) -> bool:
    """SQLite's own LIKE ignores the case of ASCII only."""
    return folded in text.casefold()
