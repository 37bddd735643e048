"""The one error tree: each error carries a sentence for the user and a detail for the log."""

from __future__ import annotations

from dataclasses import replace

from app.core.memory_shortage import MemoryHolder, MemoryShortage
from app.core.sentence import Sentence


class AppError(Exception):
    """An expected failure: `message` is one plain sentence, `detail` is for the log.

    The sentence is given as a template with its values, so that the window can translate it:
    `UsageError("{path} does not exist.", path=path)`.
    """

    def __init__(self, message: str, /, *, detail: str = "", **values: object) -> None:
        self.message: str = Sentence(message, **values)
        super().__init__(self.message)
        self.detail = detail


class InvalidSourceError(AppError):
    """The source file or folder is damaged, truncated or not what it claims to be."""


class UnsupportedError(AppError):
    """The source is sound, but holds something this program refuses by name."""


class CheckpointError(AppError):
    """A native checkpoint is damaged, incomplete or of another version."""


class ResourceError(AppError):
    """Too little disk, memory or another resource of this machine."""


class RoomError(ResourceError):
    """A volume has too little room."""


class StorageError(ResourceError):
    """The system does not let a file be read, written, moved or deleted."""


class InUseError(ResourceError):
    """What would be changed is in use, here or by another program."""


class PortBusyError(ResourceError):
    """A port cannot be listened on; `free_port` could be."""

    def __init__(
        self, message: str, /, *, detail: str = "", free_port: int | None = None, **values: object
    ) -> None:
        super().__init__(message, detail=detail, **values)
        self.free_port = free_port


class MemoryShortageError(ResourceError):
    """Too little memory for a model or a reply; `shortage` has the numbers, and what would help."""

    def __init__(
        self,
        message: str,
        /,
        *,
        detail: str = "",
        shortage: MemoryShortage | None = None,
        **values: object,
    ) -> None:
        super().__init__(message, detail=detail, **values)
        self.shortage = shortage

    def with_holders(self, holders: tuple[MemoryHolder, ...]) -> None:
        """Says who has the memory, too."""
        if self.shortage is not None:
            self.shortage = replace(self.shortage, holders=holders)


class OutOfMemoryError(ResourceError):
    """An allocation failed while a model ran; what asked for it is as it was before."""


class HubAccessError(InvalidSourceError):
    """A hub wants a token, another one, or its terms accepted; the sentence names the page."""


class HubOfflineError(ResourceError):
    """A hub must not be asked: the user wants it so."""


class HubSilentError(ResourceError):
    """A hub is silent, busy or broken; another one may have the same files."""


class HubBusyError(HubSilentError):
    """A hub has had too many requests; `wait_s` is what it asks for, None where it does not say."""

    def __init__(
        self, message: str, /, *, detail: str = "", wait_s: float | None = None, **values: object
    ) -> None:
        super().__init__(message, detail=detail, **values)
        self.wait_s = wait_s


class UsageError(AppError):
    """The caller asked for something that cannot be meant: wrong options, wrong paths."""


class OutputExistsError(UsageError):
    """What would be written is there already, and nobody asked to replace it."""


class MissingExtraError(AppError):
    """A package is not installed; the sentence says which command installs it."""


class EngineError(AppError):
    """The engine is in the wrong state, or an executor failed."""


class ContextLengthError(EngineError):
    """A prompt is longer than the context that was planned for."""


class RemoteError(AppError):
    """Another machine's server refused a request, answered nonsense or did not answer."""


class ChatStoreError(AppError):
    """Conversations could not be read or saved."""


class WorkerError(AppError):
    """A worker process died or stopped answering."""


class JobCancelledError(AppError):
    """The user cancelled; never shown as a failure."""

    def __init__(self) -> None:
        super().__init__("Cancelled.")
