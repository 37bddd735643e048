"""The conversation on the screen; an empty one is saved with its first message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from app.chat.attachments import Attachment
from app.chat.store import ChatStore, create_conversation_id
from app.chat.transcript import Conversation, Turn, title_from_text
from app.core.sampling_settings import SamplingSettings


class OpenConversation:
    """One conversation and whether the store knows it. Every method may raise ChatStoreError."""

    def __init__(self, store: ChatStore, conversation: Conversation, *, is_saved: bool) -> None:
        self._store = store
        self._is_saved = is_saved
        self.value = conversation

    @classmethod
    def create(
        cls, store: ChatStore, system_prompt: str, sampling: SamplingSettings
    ) -> OpenConversation:
        """An empty one, in memory."""
        now = datetime.now(UTC)
        new_id = create_conversation_id()
        value = Conversation(new_id, "", now, now, system_prompt, sampling)
        return cls(store, value, is_saved=False)

    @classmethod
    def load(cls, store: ChatStore, conversation_id: str) -> OpenConversation:
        """A saved one."""
        return cls(store, store.load_conversation(conversation_id), is_saved=True)

    def add_user_turn(self, text: str, attachments: Sequence[Attachment] = ()) -> Turn:
        """Saves the message, and the conversation with it when it is the first."""
        if not self._is_saved:
            self.value = self._store.create_conversation(
                self.value.title or title_from_text(text or attachments[0].name),
                system_prompt=self.value.system_prompt,
                sampling=self.value.sampling,
                conversation_id=self.value.conversation_id,
            )
            self._is_saved = True
        turn = self._store.append_turn(self.value.conversation_id, "user", text, attachments)
        self.add(turn)
        return turn

    def add(self, turn: Turn) -> None:
        """Shows a turn that was saved by someone else."""
        self.value = replace(self.value, turns=(*self.value.turns, turn))

    def add_version(self, turn_id: int, text: str) -> Turn:
        """Saves another version of a message; what followed it is not shown any more."""
        position = self._position(turn_id)
        turn = self._store.append_version(
            self.value.conversation_id, self.value.turns[position], text
        )
        self.value = replace(self.value, turns=(*self.value.turns[:position], turn))
        return turn

    def show_version(self, turn_id: int, steps: int) -> None:
        """Shows another version of a turn, and what followed that one."""
        turn = self.value.turns[self._position(turn_id)]
        self._store.show_version(self.value.conversation_id, turn, steps)
        self.reload()

    def reload(self) -> bool:
        """Shows what the store has; whether those are other turns."""
        shown, self.value = self.value, self._store.load_conversation(self.value.conversation_id)
        return shown.turns != self.value.turns

    def _position(self, turn_id: int) -> int:
        return [turn.turn_id for turn in self.value.turns].index(turn_id)

    def without(self, turn_id: int) -> Conversation:
        """The conversation as it is, but for this turn."""
        kept = tuple(turn for turn in self.value.turns if turn.turn_id != turn_id)
        return replace(self.value, turns=kept)

    def leave_out(self, turn_id: int) -> None:
        """Does not show this turn: a reply that is still running, or is made again."""
        self.value = self.without(turn_id)

    def set_title(self, title: str) -> None:
        """Renames it."""
        self.value = replace(self.value, title=title)
        if self._is_saved:
            self._store.rename_conversation(self.value.conversation_id, title)

    def set_system_prompt(self, text: str) -> None:
        """For the next reply and those after it."""
        self.value = replace(self.value, system_prompt=text)
        if self._is_saved:
            self._store.set_system_prompt(self.value.conversation_id, text)

    def set_sampling(self, sampling: SamplingSettings) -> None:
        """For the next reply and those after it."""
        self.value = replace(self.value, sampling=sampling)
        if self._is_saved:
            self._store.set_sampling(self.value.conversation_id, sampling)
