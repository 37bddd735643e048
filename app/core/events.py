"""Everything that crosses a thread or a process, as frozen dataclasses.

Commands that travel the other way stand in `app.workers.commands`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from app.core import errors
from app.core.cards import CardSample
from app.core.errors import AppError, JobCancelledError, MemoryShortageError
from app.core.memory_shortage import MemoryShortage
from app.core.sentence import Sentence


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events."""


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """An error in a form that can be pickled: `kind` is the class name of the `AppError`.

    `shortage` is set where too little memory is the reason, and the numbers are known.
    """

    kind: str
    message: str
    detail: str = ""
    shortage: MemoryShortage | None = None

    @classmethod
    def from_exception(cls, error: BaseException) -> ErrorInfo:
        """Keeps an AppError's sentence; anything else becomes an internal error."""
        if isinstance(error, AppError):
            shortage = error.shortage if isinstance(error, MemoryShortageError) else None
            return cls(type(error).__name__, error.message, error.detail, shortage)
        reason = str(error) or type(error).__name__
        return cls(
            "InternalError", Sentence("Internal error: {reason}", reason=reason), repr(error)
        )

    def to_exception(self) -> AppError:
        """The other way: the AppError that this was made of."""
        kind = getattr(errors, self.kind, AppError)
        if kind is MemoryShortageError:
            return MemoryShortageError(self.message, detail=self.detail, shortage=self.shortage)
        return kind() if kind is JobCancelledError else kind(self.message, detail=self.detail)


# --- the engine ------------------------------------------------------------------------------


REMOTE_DEVICE = "remote"


class EngineState(StrEnum):
    """The engine's life; owned by `EngineHost`, shown by everyone else."""

    UNLOADED = "unloaded"
    LOADING = "loading"
    READY = "ready"
    UNLOADING = "unloading"
    FAILED = "failed"


class FinishReason(StrEnum):
    """Why a reply ended, in OpenAI's words plus `cancelled`."""

    STOP = "stop"
    LENGTH = "length"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """What a listener needs to know of the model in the engine."""

    name: str
    model_dir: Path
    architecture: str
    device: str
    device_note: str
    max_model_len: int
    weights_bytes: int
    kv_bytes_per_token: int
    load_s: float
    has_chat_template: bool
    precision: str = ""  # `W4A8`: bits of weights, and of what they are multiplied with
    num_slots: int = 1  # sequences at once
    num_pages: int = 0  # that they share: each of 256 positions

    @property
    def is_remote(self) -> bool:
        """Whether another server runs it (`app.controllers.remote_link`)."""
        return self.device == REMOTE_DEVICE


@dataclass(frozen=True, slots=True)
class EngineStateChanged(Event):
    """`model` is set in READY, and in UNLOADED when the next request loads it again, since it was
    unloaded because nobody used it. `error` is set in FAILED."""

    state: EngineState
    model: LoadedModel | None = None
    error: ErrorInfo | None = None


@dataclass(frozen=True, slots=True)
class PrefillProgressed(Event):
    """`num_done` of `num_prompt` tokens are in the cache, `num_cached` from an earlier turn."""

    request_id: str
    num_done: int
    num_prompt: int
    num_cached: int


@dataclass(frozen=True, slots=True)
class PromptTruncated(Event):
    """The oldest `num_dropped_messages` behind the system prompt were left out of the prompt."""

    request_id: str
    num_dropped_messages: int


@dataclass(frozen=True, slots=True)
class PromptMeasured(Event):
    """What a request would take of the context of `max_model_len` tokens, as it would be shortened.

    `num_tokens` are those of the prompt, whose oldest `num_dropped_messages` behind the system
    prompt were left out.
    """

    request_id: str
    num_tokens: int
    num_dropped_messages: int
    max_model_len: int


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """ln of a token's probability in the model's own distribution, before penalties, temperature
    and constraints.

    `token` is what it adds to a text: maybe a part of a character. `top` are the likeliest tokens
    at this place, the likeliest first, each without a `top` of its own.
    """

    token_id: int
    token: bytes
    logprob: float
    top: tuple[TokenLogprob, ...] = ()


@dataclass(frozen=True, slots=True)
class TokensGenerated(Event):
    """New tokens and the text they made certain (maybe none: a split character waits).

    `logprobs` has one entry a token where the request asked for them.
    """

    request_id: str
    token_ids: tuple[int, ...]
    text: str
    logprobs: tuple[TokenLogprob, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Counts and times of one reply; times in seconds."""

    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    ttft_s: float
    decode_s: float

    @property
    def decode_tok_s(self) -> float:
        """Tokens per second after the first token; 0 when there was no second token."""
        return (self.completion_tokens - 1) / self.decode_s if self.decode_s > 0 else 0.0


@dataclass(frozen=True, slots=True)
class RequestFinished(Event):
    """The last event of a request that was not refused."""

    request_id: str
    finish_reason: FinishReason
    usage: Usage


@dataclass(frozen=True, slots=True)
class RequestFailed(Event):
    """The last event of a request that could not be served."""

    request_id: str
    error: ErrorInfo


@dataclass(frozen=True, slots=True)
class MemorySampled(Event):
    """Memory by cause: the card's where the model runs on one (`card`), else the engine process's.

    `available_bytes` is what the machine has left.
    """

    rss_bytes: int
    weights_bytes: int
    kv_bytes: int
    workspace_bytes: int
    available_bytes: int
    total_bytes: int
    card: CardSample | None = None

    @property
    def used_bytes(self) -> int:
        """Of what `ceiling_bytes` is the whole."""
        return self.card.used_bytes if self.card else self.rss_bytes

    @property
    def ceiling_bytes(self) -> int:
        """The card's memory, or the machine's."""
        return self.card.total_bytes if self.card else self.total_bytes

    @property
    def parts(self) -> tuple[int, int, int, int]:
        """Weights, KV cache, workspace, and all else; on a card that is other programs too."""
        known = self.weights_bytes, self.kv_bytes, self.workspace_bytes
        return (*known, max(0, self.used_bytes - sum(known)))


# --- jobs -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JobFailed(Event):
    """The last event of a job that failed."""

    error: ErrorInfo


@dataclass(frozen=True, slots=True)
class JobCancelled(Event):
    """The last event of a job that was cancelled."""


# --- worker processes ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WorkerStarted(Event):
    """The child process is up and listens."""

    pid: int


@dataclass(frozen=True, slots=True)
class WorkerDied(Event):
    """The child process ended without being asked to; `exit_code` None: it could not be started.

    `report`: what was kept of its end (`app.core.crash_reports`).
    """

    exit_code: int | None
    report: Path | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class WorkerStopped(Event):
    """The child process ended as asked."""


@dataclass(frozen=True, slots=True)
class WorkerUnresponsive(Event):
    """No sign of life for `silent_s` seconds; the process still exists."""

    silent_s: float


@dataclass(frozen=True, slots=True)
class WorkerRecovered(Event):
    """A process that was unresponsive gives signs of life again."""
