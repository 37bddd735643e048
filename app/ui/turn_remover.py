"""Takes single turns out of the open conversation, and brings them back."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from app.chat.turn_tree import DeletedTurn
from app.controllers.chat import ChatController
from app.ui.widgets.chat_banners import ChatBanners
from app.ui.widgets.transcript_view import TranscriptView


class TurnRemover(QObject):
    """Answers what the transcript and the banner of it ask for; lives and goes with them.

    `reopen` shows a conversation, by its id, as it is saved.
    """

    def __init__(
        self,
        chat: ChatController,
        transcript: TranscriptView,
        banners: ChatBanners,
        reopen: Callable[[str], None],
    ) -> None:
        super().__init__(transcript)
        self._chat, self._transcript, self._banners = chat, transcript, banners
        self._reopen = reopen
        transcript.delete_requested.connect(self._on_delete_requested)
        banners.turn_undo_requested.connect(self._on_undo_requested)

    def _on_delete_requested(self, turn_id: int) -> None:
        conversation_id = self._chat.conversation.conversation_id
        if self._chat.replying_conversation_id == conversation_id:
            return
        deleted = self._chat.list.delete_turn(conversation_id, turn_id)
        if deleted is not None:
            self._show_again(conversation_id)
            self._banners.show_turn_deleted(deleted)

    def _on_undo_requested(self, deleted: DeletedTurn) -> None:
        self._chat.list.restore_turn(deleted)
        if deleted.conversation_id == self._chat.conversation.conversation_id:
            self._show_again(deleted.conversation_id)

    def _show_again(self, conversation_id: str) -> None:
        place = self._transcript.from_end
        self._reopen(conversation_id)
        self._transcript.look_at(place)
