"""What a look at a hub and a download tell, as frozen dataclasses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.core.events import Event


@dataclass(frozen=True, slots=True)
class OfferedModel:
    """One model of a repository, judged before a byte of its weights.

    `main` is the file to open, '' for the whole folder. `is_refused` with the `reason`.
    `max_context` is what fits this machine with the grid that a conversion takes by itself, None
    where that is not known. `found_bytes` of `num_bytes` are on this disk already.
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


@dataclass(frozen=True, slots=True)
class RepositoryFound(Event):
    """The answer to a look-up; `revision` is what was asked for, `commit` what it means now.

    `machine` tells for which device contexts were counted; `license` is '' where none is named.
    """

    repo_id: str
    revision: str
    commit: str
    license: str
    is_gated: bool
    downloads: int
    machine: str
    models: tuple[OfferedModel, ...]


@dataclass(frozen=True, slots=True)
class DownloadProgressed(Event):
    """Several times a second; `eta_s` is None where there is no speed. `silent_s` since a byte."""

    done_bytes: int
    total_bytes: int
    bytes_per_s: float
    silent_s: float
    is_stalled: bool
    eta_s: float | None


@dataclass(frozen=True, slots=True)
class DownloadFinished(Event):
    """Every file is there and verified; `path` is what a conversion takes."""

    path: Path
    num_bytes: int
    resumed_bytes: int
    seconds: float
