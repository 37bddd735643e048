"""Opens the conversations' database so that the program always starts, whatever state the file is
in.
"""

from __future__ import annotations

import logging
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from app.chat.schema import UPGRADES, read_version, upgrade
from app.chat.turn_tree import leave_hidden_ends
from app.core.cleanup import undone_on_failure
from app.core.sentence import Sentence

_logger = logging.getLogger(__name__)

# Longer than any commit of ours; another program that holds the file longer gets a sentence.
_BUSY_TIMEOUT_S = 2.0
_LOG_STARTS = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")  # sqlite.org/fileformat2.html, 4.1
_BESIDE = ("-wal", "-shm")  # what SQLite keeps beside the database
# The file itself is at fault: not a database, malformed, or without our tables.
_DAMAGE_CODES = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR)


@dataclass(frozen=True, slots=True)
class OpenedDatabase:
    """`notice` is one sentence for the user, or ''; `scratch` is where unsaved conversations
    live.
    """

    connection: sqlite3.Connection
    path: Path
    is_read_only: bool = False
    notice: str = ""
    scratch: tempfile.TemporaryDirectory[str] | None = None


def connect(path: Path) -> sqlite3.Connection:
    """A connection for the calling thread alone, in autocommit mode.

    WAL: readers never wait for the thread that saves a reply. `synchronous` NORMAL: a killed
    program loses nothing that was committed; a power cut may lose the last commits, never the file.
    """
    connection = sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def open_database(path: Path) -> OpenedDatabase:
    """Opens, creates or upgrades; sets a damaged file aside; never writes to a newer version's."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        damage = _find_damage(path)
        if damage:
            return _replace_damaged(path, damage)
        notice = _set_damaged_log_aside(path)
        opened = _open_checked(path)
        return replace(opened, notice=opened.notice or notice)
    except sqlite3.Error as error:
        if _primary_code(error) not in _DAMAGE_CODES:
            return _open_scratch(path, str(error))
        return _replace_damaged(path, str(error))
    except OSError as error:
        return _open_scratch(path, str(error))


def _find_damage(path: Path) -> str:
    """What SQLite cannot open, or takes for new and throws the log of it away; '' for nothing."""
    wal, shm = (path.with_name(path.name + suffix) for suffix in _BESIDE)
    if any(part.is_dir() for part in (path, wal, shm)):
        return Sentence("a folder is in its place")
    if path.is_file() and not path.stat().st_size:
        return Sentence("it is empty")
    if wal.is_file() and wal.stat().st_size and not path.exists():
        return Sentence("only its log is there")
    return ""


def _set_damaged_log_aside(path: Path) -> str:
    """SQLite drops a log without its beginning and says nothing; '' where there is none such."""
    wal = path.with_name(path.name + _BESIDE[0])
    if not wal.is_file():
        return ""
    with wal.open("rb") as file:
        start = file.read(len(_LOG_STARTS[0]))
    if not start or start in _LOG_STARTS:
        return ""
    aside = wal.with_name(f"{path.stem}.damaged-{datetime.now():%Y%m%d-%H%M%S-%f}{wal.suffix}")
    wal.rename(aside)
    return Sentence(
        "The log of {path} was damaged and is kept as {aside}: what was said last may be missing.",
        path=path,
        aside=aside.name,
    )


def _open_checked(path: Path) -> OpenedDatabase:
    connection = connect(path)
    with undone_on_failure(connection.close):
        _check(connection)
        if read_version(connection) > len(UPGRADES):
            return _open_newer(connection, path)
        upgrade(connection)
        _check_tables(connection)
        _mark_interrupted(connection)
    return OpenedDatabase(connection, path)


def _check(connection: sqlite3.Connection) -> None:
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise _damage(verdict.splitlines()[-1])  # behind a heading
    if read_version(connection) > 0:
        connection.execute("SELECT conversation_id, title, updated FROM conversations LIMIT 1")
        connection.execute("SELECT turn_id, role, content, created FROM turns LIMIT 1")


def _check_tables(connection: sqlite3.Connection) -> None:
    """Everything that is read or written later has its column."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        upgrade(fresh)
        missing = _read_columns(fresh) - _read_columns(connection)
    if missing:
        raise _damage(f"no such column: {min(missing)}")  # as SQLite says it


def _read_columns(connection: sqlite3.Connection) -> set[str]:
    rows = connection.execute(
        """SELECT t.name || '.' || c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
        WHERE t.type = 'table'"""
    ).fetchall()
    return {name for (name,) in rows}


def _damage(reason: str) -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError(reason)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def _open_newer(connection: sqlite3.Connection, path: Path) -> OpenedDatabase:
    connection.execute("PRAGMA query_only = ON")
    notice = Sentence(
        "{path} was written by a newer version of this program: its conversations can be "
        "read here, new messages cannot be saved.",
        path=path,
    )
    return OpenedDatabase(connection, path, is_read_only=True, notice=notice)


def _mark_interrupted(connection: sqlite3.Connection) -> None:
    """Replies that were streaming when the program was killed; those without a text are hidden.

    Should a second program run, its reply is put right again when it ends.
    """
    connection.execute(
        "UPDATE turns SET state = 'interrupted', is_deleted = (content = '') "
        "WHERE state = 'streaming'"
    )
    leave_hidden_ends(connection)


def _replace_damaged(path: Path, reason: str) -> OpenedDatabase:
    try:
        aside = _set_aside(path)
        opened = _open_checked(path)
    except (OSError, sqlite3.Error) as error:
        return _open_scratch(path, f"{reason}; {error}")
    notice = Sentence(
        "{path} is damaged ({reason}). It was kept as {aside}; a new one was begun.",
        path=path,
        reason=reason,
        aside=aside.name,
    )
    _logger.warning("%s", notice)
    return OpenedDatabase(opened.connection, path, notice=notice)


def _set_aside(path: Path) -> Path:
    """Renames the database and what SQLite keeps beside it, so that a repair finds all of it."""
    stem = f"{path.stem}.damaged-{datetime.now():%Y%m%d-%H%M%S-%f}{path.suffix}"
    for suffix in (*_BESIDE, ""):
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.rename(path.with_name(stem + suffix))
    return path.with_name(stem)


def _open_scratch(path: Path, reason: str) -> OpenedDatabase:
    """A database that lives as long as the program: better than not starting."""
    scratch = tempfile.TemporaryDirectory(prefix="deepinfer-chats-", ignore_cleanup_errors=True)
    opened = _open_checked(Path(scratch.name) / path.name)
    notice = Sentence(
        "{path} cannot be used ({reason}): conversations of this session will not be saved.",
        path=path,
        reason=reason,
    )
    _logger.warning("%s", notice)
    return OpenedDatabase(opened.connection, opened.path, notice=notice, scratch=scratch)


def _primary_code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
