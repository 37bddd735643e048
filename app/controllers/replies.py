"""The replies of the chat: at most one runs, and what comes of it is saved."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.chat.store import ChatStore
from app.chat.transcript import Turn, TurnStats
from app.controllers.reply import RunningReply
from app.core.errors import ChatStoreError
from app.core.events import ErrorInfo


class Replies(QObject):
    """`running` is the one that runs. Every method but `finish` may raise ChatStoreError.

    Signals:
        text_appended(conversation_id, str), tokens_per_second(float): of `RunningReply`.
        failed(ErrorInfo): one could not be saved.
    """

    text_appended = Signal(str, str)
    tokens_per_second = Signal(float)
    failed = Signal(object)

    def __init__(self, store: ChatStore, parent: QObject) -> None:
        super().__init__(parent)
        self._store = store
        self.running: RunningReply | None = None

    def begin(
        self, conversation_id: str, request_id: str, model_name: str, replaced: Turn | None
    ) -> None:
        """A new one, maybe as another version of `replaced`."""
        writer = self._store.begin_reply(conversation_id, model_name, replaced)
        self._run(RunningReply(conversation_id, request_id, writer, self))

    def go_on(self, conversation_id: str, request_id: str, earlier: Turn) -> None:
        """One that had ended goes on where it ends."""
        writer = self._store.continue_reply(conversation_id, earlier)
        self._run(RunningReply(conversation_id, request_id, writer, self, earlier))

    def finish(self, reply: RunningReply, stats: TurnStats | None) -> Turn:
        """Ends and saves it, for a reader even where that fails; `stats` None: interrupted."""
        self.running = None
        try:
            return reply.finish(self._store, stats)
        except ChatStoreError as error:
            self.failed.emit(ErrorInfo.from_exception(error))
            return reply.to_turn(stats)

    def discard(self, reply: RunningReply) -> None:
        """Ends it as if it had never been asked for."""
        self.running = None
        reply.close()
        self._store.discard_reply(reply.writer)

    def _run(self, reply: RunningReply) -> None:
        reply.text_appended.connect(self.text_appended)
        reply.tokens_per_second.connect(self.tokens_per_second)
        self.running = reply
