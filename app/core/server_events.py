"""What the localhost port tells: whether it is open, and what each request does there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.core.events import ErrorInfo, Event


class ServerRequestState(StrEnum):
    """Where a request at the port stands; the last three are ends."""

    WAITING = "waiting"
    PREFILL = "prefill"
    DECODING = "decoding"
    FINISHED = "finished"
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ServerStarted(Event):
    """The port is open; `base_url` (`http://127.0.0.1:8231/v1`) is what clients are given."""

    base_url: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class ServerStopped(Event):
    """The port was closed as asked."""


@dataclass(frozen=True, slots=True)
class ServerFailed(Event):
    """The port could not be opened; `free_port` could be, where it was taken by somebody else."""

    error: ErrorInfo
    free_port: int | None = None


@dataclass(frozen=True, slots=True)
class ServerRequestEvent(Event):
    """One request as the list of requests shows it.

    `client` is the program that asks, as it calls itself, else its address. `status` is the HTTP
    status, None until it is known. Tokens are those of all choices; `tok_s` is the decoding speed
    of all choices since the first token, 0 before it.
    """

    request_id: str
    client: str
    model: str
    path: str
    state: ServerRequestState
    status: int | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    tok_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ServerRequestStarted(ServerRequestEvent):
    """The first event of a request that was let in."""


@dataclass(frozen=True, slots=True)
class ServerRequestProgressed(ServerRequestEvent):
    """At most four times a second for each request."""


@dataclass(frozen=True, slots=True)
class ServerRequestFinished(ServerRequestEvent):
    """The last event of a request; `error` is the sentence of one that failed."""

    error: str = ""
    duration_s: float = 0.0
