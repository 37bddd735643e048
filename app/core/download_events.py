"""What a look at a hub and a download tell, as frozen dataclasses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.core.events import ErrorInfo, Event


@dataclass(frozen=True, slots=True)
class FoundRepository:
    """One hit of a search; `license` and `updated` (2025-04-27) are '' where they are not said."""

    repo_id: str
    downloads: int
    likes: int
    license: str
    is_gated: bool
    updated: str


@dataclass(frozen=True, slots=True)
class RepositoriesFound(Event):
    """The answer to a search for `words`, the most downloaded first; `endpoint` gave it."""

    words: str
    endpoint: str
    repositories: tuple[FoundRepository, ...]


@dataclass(frozen=True, slots=True)
class GridContext:
    """Context in tokens that fits this machine when the model is converted to `grid`, and with an
    8-bit KV cache."""

    grid: str
    max_context: int
    max_context_int8_kv: int


@dataclass(frozen=True, slots=True)
class OfferedModel:
    """One model of a repository, judged before a byte of its weights.

    `main` is the file to open, '' for the whole folder. `is_refused` with the `reason`.
    `max_context` is what fits this machine with the grid that a conversion takes by itself, None
    where that is not known; `contexts` has all grids. `found_bytes` of `num_bytes` are on this disk
    already. `template` is present, missing or unknown.
    """

    name: str
    main: str
    num_bytes: int
    found_bytes: int
    is_refused: bool
    reason: str
    architecture: str = ""
    grid: str = ""
    max_context: int | None = None
    converted_bytes: int | None = None
    template: str = "unknown"
    contexts: tuple[GridContext, ...] = ()


@dataclass(frozen=True, slots=True)
class RepositoryFound(Event):
    """The answer to a look-up; `revision` is what was asked for, `commit` what it means now.

    `reference` asks for the same repository again. `machine` tells for which device contexts were
    counted; `license` is '' where none is named. `best` is the place of the model to take in
    `models`, None where all are refused. Files go below `folder`.
    """

    reference: str
    repo_id: str
    revision: str
    commit: str
    license: str
    is_gated: bool
    downloads: int
    machine: str
    models: tuple[OfferedModel, ...]
    best: int | None = None
    endpoint: str = ""
    folder: Path = Path()


@dataclass(frozen=True, slots=True)
class DownloadingFile:
    """One file of a download; `state` is waiting, checking, running or done."""

    path: str
    done_bytes: int
    total_bytes: int
    state: str


@dataclass(frozen=True, slots=True)
class DownloadProgressed(Event):
    """Several times a second; `eta_s` is None where there is no speed. `silent_s` since a byte.

    `is_checking`: what is on the disk already is read. `note` is the last thing that went
    otherwise than planned. `retry_after_s` of silence a connection is given up.
    """

    done_bytes: int
    total_bytes: int
    bytes_per_s: float
    silent_s: float
    is_stalled: bool
    eta_s: float | None
    files: tuple[DownloadingFile, ...] = ()
    note: str = ""
    is_checking: bool = False
    retry_after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class DownloadFinished(Event):
    """Every file is there and verified; `path` is what a conversion takes."""

    path: Path
    num_bytes: int
    resumed_bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class EndpointProbed(Event):
    """How fast a hub is from here; `problem` says why it is not."""

    endpoint: str
    first_byte_s: float
    bytes_per_s: float
    problem: str = ""


@dataclass(frozen=True, slots=True)
class TokenTold(Event):
    """Where the token of a hub comes from: none, keyring, session or environment."""

    endpoint: str
    origin: str


@dataclass(frozen=True, slots=True)
class TokenFailed(Event):
    """The token of a hub could not be saved, forgotten or looked up."""

    endpoint: str
    error: ErrorInfo
