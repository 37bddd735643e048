"""The engine's state as the window sees it."""

from __future__ import annotations

from enum import StrEnum

from app.core.events import EngineState, EngineStateChanged
from app.core.sentence import Sentence
from app.workers.postmortem import describe_exit


class ChatState(StrEnum):
    """Buttons bind to it and hold no flags of their own.

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


def to_chat_state(event: EngineStateChanged, *, is_replying: bool) -> ChatState:
    """READY also where the next request loads the model again, as it was unloaded for idleness;
    GENERATING while a reply waits for that, also where it was asked for in the same moment.
    """
    sleeps = event.state is EngineState.UNLOADED and event.model is not None
    if is_replying and (sleeps or event.state in (EngineState.LOADING, EngineState.READY)):
        return ChatState.GENERATING
    return ChatState.READY if sleeps else ChatState(event.state.value)


def death_sentence(exit_code: int | None, *, had_text: bool) -> str:
    """The engine's process has ended by itself, maybe while it wrote."""
    code = Sentence("it could not be started") if exit_code is None else describe_exit(exit_code)
    if had_text:
        return Sentence(
            "The engine stopped unexpectedly ({code}). The reply so far is saved.", code=code
        )
    return Sentence("The engine stopped unexpectedly ({code}).", code=code)
