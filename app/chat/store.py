"""Where conversations are kept: one SQLite database, crash safe while a reply streams."""

from __future__ import annotations

from pathlib import Path

from app.chat.transcript import Conversation, ConversationSummary


class ChatStore:
    """Open conversations database. `notice` is a sentence for the user (set aside, read-only) or
    ''.
    """

    notice: str
    is_read_only: bool

    @classmethod
    def open(cls, path: Path) -> ChatStore:
        """Opens or creates the database; a damaged one is renamed and named in `notice`."""
        raise NotImplementedError

    def list_conversations(self, query: str = "") -> tuple[ConversationSummary, ...]:
        """Latest first; `query` searches titles and contents."""
        raise NotImplementedError

    def load_conversation(self, conversation_id: str) -> Conversation:
        """A whole conversation."""
        raise NotImplementedError

    def close(self) -> None:
        """Closes the file."""
        raise NotImplementedError
