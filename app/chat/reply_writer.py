"""Saves a reply while it streams: a thread that commits what came, at most FLUSH_INTERVAL_S
later.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from contextlib import ExitStack, closing
from pathlib import Path

from app.chat.database import connect

_logger = logging.getLogger(__name__)

# Below the 250 ms that a killed program may lose, to leave the commit some time.
FLUSH_INTERVAL_S = 0.2


class ReplyWriter:
    """Appends to one turn's content. `append` never waits for the disk; `close` saves the rest.

    The thread has a connection of its own: reading never waits for it. Text that could not be saved
    (disk full, file held by another program) stays and is tried again.
    """

    def __init__(
        self, path: Path, turn_id: int, conversation_id: str, previous_leaf_id: int | None
    ) -> None:
        self.turn_id = turn_id
        self.conversation_id = conversation_id
        self.previous_leaf_id = previous_leaf_id  # what is shown if the reply is discarded
        self._path = path
        self._pending: list[str] = []
        self._lock = threading.Lock()
        self._has_text = threading.Event()
        self._is_closing = threading.Event()
        self._error: sqlite3.Error | None = None
        self._connection: sqlite3.Connection | None = None  # the thread's alone
        self._thread = threading.Thread(target=self._run, name="reply-writer", daemon=True)
        self._thread.start()

    def append(self, text: str) -> None:
        """Takes new text; returns at once."""
        with self._lock:
            self._pending.append(text)
        self._has_text.set()

    def close(self) -> None:
        """Saves what is left and ends the thread; raises sqlite3.Error when that failed."""
        self._is_closing.set()
        self._has_text.set()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        with ExitStack() as stack:
            is_last = False
            while not is_last:
                self._has_text.wait()
                is_last = self._is_closing.wait(FLUSH_INTERVAL_S)
                self._flush(stack)

    def _flush(self, stack: ExitStack) -> None:
        with self._lock:
            self._has_text.clear()
            text = "".join(self._pending)
            self._pending.clear()
        try:
            if self._connection is None:
                self._connection = stack.enter_context(closing(connect(self._path)))
            self._save(self._connection, text)
            self._error = None
        except sqlite3.Error as error:
            _logger.warning("A reply could not be saved: %s", error)
            self._error = error
            with self._lock:
                self._pending.insert(0, text)

    def _save(self, connection: sqlite3.Connection, text: str) -> None:
        connection.execute(
            "UPDATE turns SET content = content || ? WHERE turn_id = ?", (text, self.turn_id)
        )
