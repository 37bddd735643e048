"""What a validation tells: events, the rows of checks, and the report, as frozen dataclasses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from app.core.events import Event

Metric = float | int | str


class CheckStatus(StrEnum):
    """How a check ended; `not_run` always comes with the reason."""

    PASS = "pass"
    FAIL = "fail"
    NOT_RUN = "not_run"


class VerdictStatus(StrEnum):
    """Whether the source runs: as it is, after a conversion, or not."""

    SUPPORTED = "supported"
    CONVERT = "convert"
    REFUSED = "refused"


class DifferenceList(StrEnum):
    """Which of the three lists a difference stands in."""

    MODEL = "model"
    DATA = "data"
    GENERATION = "generation"


class DifferenceState(StrEnum):
    """What comparing ours with the reference's found; `unconfirmed`: nobody could be asked."""

    SAME = "same"
    DIFFERENT = "different"
    UNCONFIRMED = "unconfirmed"


@dataclass(frozen=True, slots=True)
class PlannedCheck:
    """A row before it has run. `name` is stable, `title` is for people."""

    name: str
    title: str


@dataclass(frozen=True, slots=True)
class Check:
    """A row that has ended: one sentence, and the figures behind it."""

    name: str
    title: str
    status: CheckStatus
    detail: str
    metrics: Mapping[str, Metric] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Difference:
    """One entry of the difference analysis; `ours` is the ModelSpec's word, for people."""

    list: DifferenceList
    name: str
    state: DifferenceState
    ours: str
    reference: str


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """What the chat template makes of some turns (`turns`: system, user ...)."""

    turns: str
    text: str


@dataclass(frozen=True, slots=True)
class ValidationChain:
    """config -> adapter -> ModelSpec -> executor; empty where the chain broke before.

    `config` names the architecture and model_type that were read, `adapter` the module of the
    declaration, `spec` the spec's fields as texts, `executors` those that run it.
    """

    format: str
    config: str
    adapter: str = ""
    family: str = ""
    spec: tuple[tuple[str, str], ...] = ()
    executors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """`reason` is one sentence."""

    status: VerdictStatus
    reason: str


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """Everything that was found. `markdown` is the report to save, `document` the same as JSON.

    `environment` says on what it ran, `unverified` what no check could see and why.
    """

    name: str
    verdict: Verdict
    chain: ValidationChain
    reference: str
    environment: tuple[tuple[str, str], ...]
    differences: tuple[Difference, ...]
    checks: tuple[Check, ...]
    prompts: tuple[RenderedPrompt, ...]
    unverified: tuple[str, ...]
    seconds: float
    cpu_seconds: float
    markdown: str = ""
    document: str = ""

    @property
    def file_name(self) -> str:
        """What the saved report is called."""
        return f"{self.name}_integration_report.md"

    @property
    def failed(self) -> tuple[Check, ...]:
        """The red rows."""
        return tuple(check for check in self.checks if check.status is CheckStatus.FAIL)


@dataclass(frozen=True, slots=True)
class ValidationStarted(Event):
    """The first event: what was recognised, and the rows that follow, in order."""

    name: str
    chain: ValidationChain
    checks: tuple[PlannedCheck, ...]


@dataclass(frozen=True, slots=True)
class CheckStarted(Event):
    """A row begins."""

    name: str


@dataclass(frozen=True, slots=True)
class CheckProgressed(Event):
    """A long row says what it is at."""

    name: str
    step: str


@dataclass(frozen=True, slots=True)
class CheckFinished(Event):
    """A row has ended."""

    check: Check


@dataclass(frozen=True, slots=True)
class DifferencesFound(Event):
    """The entries of one list, complete."""

    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class PromptsRendered(Event):
    """The chat template's prompts."""

    prompts: tuple[RenderedPrompt, ...]


@dataclass(frozen=True, slots=True)
class ValidationFinished(Event):
    """The last event of a validation that was neither cancelled nor impossible to begin."""

    report: ValidationReport
