"""What the window asks of its worker processes; events travel the other way (`app.core.events`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from app.engine.request import Message, Request


@dataclass(frozen=True, slots=True)
class Command:
    """Base of all commands."""


@dataclass(frozen=True, slots=True)
class Shutdown(Command):
    """End the process cleanly."""


@dataclass(frozen=True, slots=True)
class LoadModel(Command):
    """Load a native checkpoint; `max_model_len` None lets the memory plan choose."""

    model_dir: Path
    device: str = "auto"
    max_model_len: int | None = None
    activations: str = "int8"
    kv_dtype: str = "fp16"


@dataclass(frozen=True, slots=True)
class UnloadModel(Command):
    """Give the model's memory back."""


@dataclass(frozen=True, slots=True)
class SubmitRequest(Command):
    """Generate; answered by PrefillProgressed, TokensGenerated, RequestFinished | RequestFailed."""

    request: Request


@dataclass(frozen=True, slots=True)
class MeasurePrompt(Command):
    """How much of the context a request would take; answered by PromptMeasured, or by nothing."""

    request: Request


@dataclass(frozen=True, slots=True)
class CancelRequest(Command):
    """Stop a reply within one token; answered by RequestFinished(cancelled)."""

    request_id: str


@dataclass(frozen=True, slots=True)
class ConfigureEngine(Command):
    """What the engine does besides answering; not answered.

    A model that nobody has used for `idle_unload_s` gives its memory back until the next request;
    None: never. The KV caches of conversations (`Request.cache_key`) are kept on disk or not.
    """

    idle_unload_s: float | None = None
    keeps_conversations: bool = False


@dataclass(frozen=True, slots=True)
class ForgetConversation(Command):
    """Remove what is kept on disk of a conversation's KV cache; not answered."""

    cache_key: str


@dataclass(frozen=True, slots=True)
class StartServer(Command):
    """Open the OpenAI port beside the engine; answered by ServerStarted or ServerFailed, then by
    the other events of `app.core.server_events`.

    It stays open without a model and while models change. `allow_lan` lets other machines in, for
    which `api_key` must be set.
    """

    port: int
    api_key: str = field(default="", repr=False)
    allow_lan: bool = False


@dataclass(frozen=True, slots=True)
class StopServer(Command):
    """Close the port and end its requests; answered by ServerStopped."""


@dataclass(frozen=True, slots=True)
class CancelServerRequest(Command):
    """End one request of the port; answered by ServerRequestFinished(cancelled)."""

    request_id: str


@dataclass(frozen=True, slots=True)
class ConvertSource(Command):
    """Convert one source; answered by ConversionPlanned, ConversionProgressed, one last event.

    The other fields are arguments of `app.converter.pipeline.convert`; with `evaluate` or `compare`
    EvaluationProgressed comes too. A killed process, and one that is shut down, leave the parts
    that are done; without `resume` those are thrown away.
    """

    source: Path
    output: Path
    grid: str = "auto"
    group_size: int = 128
    tokenizer_dir: Path | None = None
    overwrite: bool = False
    vram_budget: int | None = None
    allow_lossy: bool = False
    evaluate: bool = False
    compare: tuple[str, ...] = ()
    resume: bool = False


@dataclass(frozen=True, slots=True)
class PlanConversion(Command):
    """Only recognise the source and plan; answered by ConversionPlanned, JobFailed or
    JobCancelled, for w3w4 after MeasuringProgressed.

    With `resume` an interrupted conversion of this source is planned as it was begun.
    """

    source: Path
    output: Path
    grid: str = "auto"
    group_size: int = 128
    tokenizer_dir: Path | None = None
    vram_budget: int | None = None
    resume: bool = False


@dataclass(frozen=True, slots=True)
class EvaluateCheckpoint(Command):
    """Measure a finished checkpoint against its source, and other grids beside it.

    Answered by EvaluationProgressed, ConversionProgressed (of the others), EvaluationFinished or
    JobFailed or JobCancelled. The fields are arguments of
    `app.converter.pipeline.evaluate_checkpoint`.
    """

    source: Path
    checkpoint: Path
    compare: tuple[str, ...] = ()
    group_size: int = 128
    tokenizer_dir: Path | None = None


@dataclass(frozen=True, slots=True)
class DiscardParts(Command):
    """Throw away what an interrupted conversion to `output` left; not answered."""

    output: Path


@dataclass(frozen=True, slots=True)
class ValidateSource(Command):
    """Validate a path or a repository id; answered by the events of `app.core.validation_events`,
    the last of them ValidationFinished, or JobFailed or JobCancelled.
    """

    source: str


@dataclass(frozen=True, slots=True)
class LookUpRepository(Command):
    """Look at a repository without fetching weights; answered by RepositoryFound, JobFailed or
    JobCancelled. `reference` as `app.hub.reference.parse_reference` takes it.
    """

    reference: str


@dataclass(frozen=True, slots=True)
class SearchRepositories(Command):
    """Look for repositories by words; answered by RepositoriesFound or JobFailed."""

    words: str


@dataclass(frozen=True, slots=True)
class ProbeEndpoints(Command):
    """Read a megabyte of each hub; answered by an EndpointProbed for each."""

    endpoints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AskToken(Command):
    """Where the token of a hub comes from; answered by TokenTold or TokenFailed."""

    endpoint: str


@dataclass(frozen=True, slots=True)
class SaveToken(Command):
    """Keep a token for a hub in the system's keyring; answered by TokenTold or TokenFailed."""

    endpoint: str
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class UseToken(Command):
    """Take a token for a hub while this process lives (there is no keyring); nothing answers."""

    endpoint: str
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ForgetToken(Command):
    """Remove the token of a hub that was saved; answered by TokenTold or TokenFailed."""

    endpoint: str


@dataclass(frozen=True, slots=True)
class DownloadModel(Command):
    """Fetch a model that RepositoryFound offered (its `main`), into the standard cache; answered by
    DownloadProgressed and, at last, DownloadFinished, JobFailed or JobCancelled.

    What has arrived stays, whatever ends it, and the same command goes on from there. `revision`
    is the branch that meant `commit`; `converted_bytes` must fit on the library's volume besides.
    """

    reference: str
    revision: str
    commit: str
    main: str
    converted_bytes: int = 0


@dataclass(frozen=True, slots=True)
class CancelJob(Command):
    """Cancel the job that runs; answered by JobCancelled, unless its own last event was on the
    way. `keeps_parts`: what is converted stays to be resumed, otherwise nothing is left.
    """

    keeps_parts: bool = False


__all__ = [
    "AskToken",
    "CancelJob",
    "CancelRequest",
    "CancelServerRequest",
    "Command",
    "ConfigureEngine",
    "ConvertSource",
    "DiscardParts",
    "DownloadModel",
    "EvaluateCheckpoint",
    "ForgetConversation",
    "ForgetToken",
    "LoadModel",
    "LookUpRepository",
    "MeasurePrompt",
    "Message",
    "PlanConversion",
    "ProbeEndpoints",
    "SaveToken",
    "SearchRepositories",
    "Shutdown",
    "StartServer",
    "StopServer",
    "SubmitRequest",
    "UnloadModel",
    "UseToken",
    "ValidateSource",
]
