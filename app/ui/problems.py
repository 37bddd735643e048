"""How an error is told, everywhere alike: what happened, why, what to do, and details to copy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from PySide6.QtCore import QCoreApplication

from app.core.events import ErrorInfo
from app.core.translation import QT_TRANSLATE_NOOP
from app.ui.sentences import shown

_CONTEXT = "Problem"


class Way(StrEnum):
    """A way out that the window knows; a button has it."""

    RETRY = "retry"
    LIBRARY = "library"  # where room can be made, and damaged models are found
    MODEL_SETTINGS = "model_settings"
    DOWNLOAD_SETTINGS = "download_settings"
    MODELS = "models"  # the model picker
    NEW_CHAT = "new_chat"


_WAY_LABELS = {
    Way.RETRY: QT_TRANSLATE_NOOP("Problem", "Try again"),
    Way.LIBRARY: QT_TRANSLATE_NOOP("Problem", "Open the library"),
    Way.MODEL_SETTINGS: QT_TRANSLATE_NOOP("Problem", "Model settings"),
    Way.DOWNLOAD_SETTINGS: QT_TRANSLATE_NOOP("Problem", "Download settings"),
    Way.MODELS: QT_TRANSLATE_NOOP("Problem", "Choose another model"),
    Way.NEW_CHAT: QT_TRANSLATE_NOOP("Problem", "New chat"),
}


@dataclass(frozen=True, slots=True)
class Problem:
    """`title` is what happened, `reason` why, `advice` what to do, `detail` for a report; each may
    be '' but the reason. `ways` are offered as buttons.
    """

    title: str
    reason: str
    advice: str = ""
    detail: str = ""
    ways: tuple[Way, ...] = ()

    @property
    def report(self) -> str:
        """All of it, to be copied."""
        parts = (self.title, self.reason, self.advice, self.detail)
        return "\n\n".join(part for part in parts if part)


# What each kind of error is called, what helps against it, and the way there.
_KINDS: dict[str, tuple[str, str, tuple[Way, ...]]] = {
    "InvalidSourceError": (
        QT_TRANSLATE_NOOP("Problem", "The file cannot be used"),
        QT_TRANSLATE_NOOP("Problem", "Download it again: an incomplete copy is the usual cause."),
        (),
    ),
    "UnsupportedError": (
        QT_TRANSLATE_NOOP("Problem", "This is not supported"),
        QT_TRANSLATE_NOOP("Problem", "Choose another version of the model, or another model."),
        (),
    ),
    "CheckpointError": (
        QT_TRANSLATE_NOOP("Problem", "The converted model is damaged"),
        QT_TRANSLATE_NOOP("Problem", "Convert it again from its source. The library shows both."),
        (Way.LIBRARY,),
    ),
    "RoomError": (
        QT_TRANSLATE_NOOP("Problem", "Not enough disk space"),
        QT_TRANSLATE_NOOP(
            "Problem", "The library shows what takes up space and what can be removed."
        ),
        (Way.LIBRARY,),
    ),
    "StorageError": (
        QT_TRANSLATE_NOOP("Problem", "A file cannot be read or written"),
        "",
        (),
    ),
    "InUseError": (QT_TRANSLATE_NOOP("Problem", "It is in use right now"), "", ()),
    "PortBusyError": (QT_TRANSLATE_NOOP("Problem", "The port cannot be used"), "", ()),
    "MemoryShortageError": (
        QT_TRANSLATE_NOOP("Problem", "Not enough memory"),
        "",
        (Way.MODELS,),
    ),
    "ResourceError": (
        QT_TRANSLATE_NOOP("Problem", "This computer does not meet the requirements"),
        "",
        (),
    ),
    "MissingExtraError": (
        QT_TRANSLATE_NOOP("Problem", "A required component is not installed"),
        "",
        (),
    ),
    "ContextLengthError": (
        QT_TRANSLATE_NOOP("Problem", "The conversation is too long for the context"),
        QT_TRANSLATE_NOOP("Problem", "Start a new one, or choose a longer context."),
        (Way.NEW_CHAT, Way.MODEL_SETTINGS),
    ),
    "EngineError": (
        QT_TRANSLATE_NOOP("Problem", "The engine had to stop"),
        QT_TRANSLATE_NOOP("Problem", "Load the model again, or another one."),
        (Way.MODELS,),
    ),
    "HubAccessError": (QT_TRANSLATE_NOOP("Problem", "The hub denied access"), "", ()),
    "HubOfflineError": (QT_TRANSLATE_NOOP("Problem", "The hub is not asked"), "", ()),
    "HubSilentError": (
        QT_TRANSLATE_NOOP("Problem", "The hub does not answer"),
        QT_TRANSLATE_NOOP("Problem", "Try again later, or choose another address for the hub."),
        (Way.DOWNLOAD_SETTINGS,),
    ),
    "RemoteError": (QT_TRANSLATE_NOOP("Problem", "The other server did not answer"), "", ()),
    "ChatStoreError": (
        QT_TRANSLATE_NOOP("Problem", "Conversations cannot be read or saved"),
        "",
        (),
    ),
    "WorkerError": (
        QT_TRANSLATE_NOOP("Problem", "Part of the program stopped unexpectedly"),
        "",
        (),
    ),
    "InternalError": (
        QT_TRANSLATE_NOOP("Problem", "Something went wrong inside the program"),
        "",
        (),
    ),
}
_ALIASES = {
    "HubBusyError": "HubSilentError",
    "OutOfMemoryError": "MemoryShortageError",
    "TrashMissingError": "StorageError",
}


def describe(error: ErrorInfo, title: str = "") -> Problem:
    """`title`: what did not succeed, where the caller knows it better than the kind of error."""
    kind, advice, ways = _KINDS.get(_ALIASES.get(error.kind, error.kind), ("", "", ()))
    return Problem(
        title or _translated(kind),
        shown(error.message),
        _translated(advice),
        error.detail,
        ways,
    )


def without(problem: Problem, *ways: Way) -> Problem:
    """The same without ways that lead to where the user is."""
    return replace(problem, ways=tuple(way for way in problem.ways if way not in ways))


def way_label(way: Way) -> str:
    """What its button is called."""
    return _translated(_WAY_LABELS[way])


def _translated(text: str) -> str:
    return QCoreApplication.translate(_CONTEXT, text) if text else ""
