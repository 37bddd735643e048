"""A prompt becomes text in the window: the engine's worker process, the open conversation, the
store.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.chat.store import ChatStore
from app.chat.transcript import Conversation, ConversationSummary, SamplingSettings
from app.core.events import LoadedModel


class ChatState(StrEnum):
    """The engine's state as the window sees it; buttons bind to it and hold no flags of their own.

    send and regenerate: READY; stop: GENERATING; load: all but LOADING, GENERATING, UNLOADING;
    restart: DOWN.
    """

    UNLOADED = "unloaded"
    LOADING = "loading"
    READY = "ready"
    GENERATING = "generating"
    UNLOADING = "unloading"
    FAILED = "failed"
    DOWN = "down"


class ChatController(QObject):
    """Commands in, signals out. One reply at a time; it goes on when another conversation is
    opened.

    Signals (all on the GUI thread; conversation ids are str):
        state_changed(ChatState)
        model_loaded(LoadedModel)
        conversations_changed(): the list (`conversations()`) is to be read again.
        conversation_opened(Conversation): show this one, whole.
        turn_added(conversation_id, Turn): the user's message, after `send`.
        turn_removed(conversation_id, turn_id: int): the reply that `regenerate` replaces.
        reply_started(conversation_id): an empty reply begins.
        prefill_progressed(PrefillProgressed)
        text_appended(conversation_id, str): new text, at most about 30 times a second.
        tokens_per_second(float): over the last second, a few times a second while a reply runs.
        reply_finished(conversation_id, Turn): the reply as saved, with its statistics;
            `is_interrupted` when the worker died. Always the last signal of a reply that had text.
        reply_failed(conversation_id, ErrorInfo): the reply was refused or failed before any text;
            no turn remains.
        memory_sampled(MemorySampled)
        failed(ErrorInfo): loading failed, or the conversation could not be saved.
        worker_died(str): one sentence; `restart()` starts the engine again and reloads the model.
        worker_unresponsive(float): seconds without a sign of life; `restart()` helps here, too.
    """

    state_changed = Signal(object)
    model_loaded = Signal(object)
    conversations_changed = Signal()
    conversation_opened = Signal(object)
    turn_added = Signal(str, object)
    turn_removed = Signal(str, int)
    reply_started = Signal(str)
    prefill_progressed = Signal(object)
    text_appended = Signal(str, str)
    tokens_per_second = Signal(float)
    reply_finished = Signal(str, object)
    reply_failed = Signal(str, object)
    memory_sampled = Signal(object)
    failed = Signal(object)
    worker_died = Signal(str)
    worker_unresponsive = Signal(float)

    def __init__(self, store: ChatStore, parent: QObject | None = None) -> None:
        """`store` is open (`ChatStore.open(path)`); its `notice`, if any, is the window's to show.
        """
        super().__init__(parent)
        raise NotImplementedError

    # --- the engine --------------------------------------------------------------------------

    @property
    def state(self) -> ChatState:
        """The state last told by `state_changed`."""
        raise NotImplementedError

    @property
    def model(self) -> LoadedModel | None:
        """The model that answers; None when none is loaded."""
        raise NotImplementedError

    def load_model(
        self, model_dir: Path, *, device: str = "auto", max_model_len: int | None = None
    ) -> None:
        """Loads a native checkpoint (starting the worker if need be); answered by `model_loaded` or
        `failed`.
        """
        raise NotImplementedError

    def unload_model(self) -> None:
        """Gives the model's memory back."""
        raise NotImplementedError

    def restart(self) -> None:
        """Ends the worker, if it still lives, starts a fresh one and loads the last model again."""
        raise NotImplementedError

    # --- conversations -----------------------------------------------------------------------

    @property
    def conversation(self) -> Conversation | None:
        """The open conversation, as saved (a running reply appears in it when it has ended)."""
        raise NotImplementedError

    @property
    def replying_conversation_id(self) -> str | None:
        """The conversation that a reply is running in."""
        raise NotImplementedError

    @property
    def reply_text(self) -> str:
        """The text of the running reply so far (for a page that opens its conversation again); ''
        without one.
        """
        raise NotImplementedError

    def conversations(self, query: str = "") -> tuple[ConversationSummary, ...]:
        """The list, latest first; `query` searches titles and contents."""
        raise NotImplementedError

    def new_conversation(self) -> None:
        """Opens an empty conversation; it is saved with its first message."""
        raise NotImplementedError

    def open_conversation(self, conversation_id: str) -> None:
        """Opens a saved conversation; answered by `conversation_opened` or `failed`."""
        raise NotImplementedError

    def rename_conversation(self, conversation_id: str, title: str) -> None:
        """Renames; answered by `conversations_changed`."""
        raise NotImplementedError

    def delete_conversation(self, conversation_id: str) -> None:
        """Hides it from the list; `restore_conversation` is its undo."""
        raise NotImplementedError

    def restore_conversation(self, conversation_id: str) -> None:
        """Brings a deleted conversation back."""
        raise NotImplementedError

    def set_system_prompt(self, text: str) -> None:
        """Sets the open conversation's system prompt, from the next message on."""
        raise NotImplementedError

    def set_sampling(self, sampling: SamplingSettings) -> None:
        """Sets the open conversation's sampling, from the next message on."""
        raise NotImplementedError

    # --- replies -----------------------------------------------------------------------------

    def send(self, text: str) -> None:
        """Saves the user's message and asks for a reply; no effect unless READY or when `text` is
        blank.
        """
        raise NotImplementedError

    def stop(self) -> None:
        """Stops the running reply within one token; it ends with `reply_finished` (finish reason
        cancelled).
        """
        raise NotImplementedError

    def regenerate(self) -> None:
        """Replaces the last reply of the open conversation; no effect unless READY and it has a
        user's message.
        """
        raise NotImplementedError

    def shutdown(self) -> None:
        """Saves, ends the worker process and waits; call once before the application quits."""
        raise NotImplementedError
