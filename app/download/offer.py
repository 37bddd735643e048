"""Whether a model would run here, and with how much context, before a byte of its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import prod

from app.converter.sources.foreign_folders import refuse_draft
from app.converter.sources.hf_folder import read_json
from app.converter.sources.linear_formats import check_method
from app.converter.sources.quantization_config import read_declaration
from app.core.errors import InvalidSourceError, ResourceError, UnsupportedError
from app.core.sentence import Sentence
from app.download.file_plan import FilePlan
from app.download.header_end import ReadRange, find_template
from app.engine.fit import ExactSizes, MachineFit, fit_machine
from app.engine.memory_plan import FitRow
from app.hub.client import HubClient
from app.hub.repository import Repository
from app.spec.gguf_config import architecture_of
from app.spec.gguf_head import GgufHead, read_gguf_head
from app.spec.model_spec import ModelSpec
from app.spec.registry import create_spec
from app.spec.weights import iter_linears

# Of a GGUF file, however long it is: its start, and what is left to look for its template.
MAX_HEAD_BYTES = 2_000_000
_SEARCH_BYTES = 500_000
_SIDECAR = "quantize_config.json"  # AutoGPTQ's, beside a config.json that says nothing
_TOKENIZER_CONFIG = "tokenizer_config.json"
_TEMPLATE_KEY = "tokenizer.chat_template"


class Template(StrEnum):
    """Whether a chat template comes with the model; `UNKNOWN` before the download."""

    PRESENT = "present"
    MISSING = "missing"
    UNKNOWN = "unknown"


_RUNS = {
    Template.PRESENT: Sentence("It runs after conversion."),
    Template.MISSING: Sentence(
        "It runs after conversion. It brings no chat template: it completes text, and a chat needs "
        "one."
    ),
    Template.UNKNOWN: Sentence(
        "It runs after conversion. Whether it brings a chat template is not known before the "
        "download."
    ),
}


@dataclass(frozen=True, slots=True)
class _Read:
    """What the configuration or the start of the file tells; `spec` None: not its sizes."""

    spec: ModelSpec | None
    is_quantized: bool
    template: Template


@dataclass(frozen=True, slots=True)
class Offer:
    """`status` is convert (runs after a conversion) | refused, with the reason.

    `architecture` and `fit` are '' and None where the model is refused or the start of the file
    does not tell its sizes; `template` tells of the chat template.
    """

    plan: FilePlan
    status: str
    reason: str
    architecture: str = ""
    fit: MachineFit | None = None
    template: Template = Template.UNKNOWN

    @property
    def row(self) -> FitRow | None:
        """What a conversion without options would make of it: its own grid, or w4."""
        return self.fit.rows[0] if self.fit else None


def make_offers(
    client: HubClient, repository: Repository, plans: Sequence[FilePlan]
) -> tuple[Offer, ...]:
    """One for each plan. Quantizations of a repository are one model: the smallest is read.

    Judges by config.json or the start of the GGUF file; raises for a hub that does not answer or
    holds a damaged one.
    """
    smallest = min(plans, key=lambda plan: plan.num_bytes)
    try:
        read = _read(client, repository, smallest)
    except UnsupportedError as error:
        return tuple(Offer(plan, "refused", error.message) for plan in plans)
    if read.spec is None:
        unknown = Sentence("Its architecture runs; its sizes are not known yet.")
        return tuple(Offer(plan, "convert", unknown, template=read.template) for plan in plans)
    spec, reason = read.spec, _RUNS[read.template]
    return tuple(
        Offer(
            plan,
            "convert",
            reason,
            spec.architecture,
            _fit(spec, plan, read.is_quantized),
            read.template,
        )
        for plan in plans
    )


def _read(client: HubClient, repository: Repository, plan: FilePlan) -> _Read:
    if not plan.main:
        return _read_folder(client, repository)
    total = next(file.num_bytes for file in plan.files if file.path == plan.main)

    def read(start: int, stop: int) -> bytes:
        return client.read_range(repository, plan.main, start, stop)

    is_told = repository.has_gguf_template
    first = min(total, MAX_HEAD_BYTES if is_told else MAX_HEAD_BYTES - _SEARCH_BYTES)
    head = read_gguf_head(read(0, first), file=plan.main, total_bytes=total)
    is_there = is_told or _TEMPLATE_KEY in head.metadata
    if is_there or head.tensors is not None:
        template = Template.PRESENT if is_there else Template.MISSING
    else:
        template = _search_template(read, first, total)
    return _Read(_spec_of(head), True, template)


def _search_template(read: ReadRange, num_known: int, total: int) -> Template:
    """It may stand behind a vocabulary of megabytes; that none was seen proves nothing."""
    try:
        is_there = find_template(read, num_known, total)
    except ResourceError:  # it was only to tell more
        return Template.UNKNOWN
    return Template.PRESENT if is_there else Template.UNKNOWN


def _spec_of(head: GgufHead) -> ModelSpec | None:
    architecture_of(head.metadata, head.file)
    try:
        return create_spec(head.config())
    except InvalidSourceError:
        if head.tensors is not None:
            raise
        return None  # the missing key may stand behind the vocabulary


def _read_folder(client: HubClient, repository: Repository) -> _Read:
    path = client.file_at(repository.repo_id, "config.json", repository.commit)
    names = {file.path for file in repository.files}
    if _SIDECAR in names:
        client.file_at(repository.repo_id, _SIDECAR, repository.commit)
    config = read_json(path)
    declaration = read_declaration(config, path.parent)
    check_method(declaration, repository.repo_id)
    refuse_draft(config, repository.repo_id)
    spec = create_spec(config)
    return _Read(spec, declaration is not None, _folder_template(client, repository, names))


def _folder_template(client: HubClient, repository: Repository, names: set[str]) -> Template:
    if names & {"chat_template.jinja", "chat_template.json"}:
        return Template.PRESENT
    if _TOKENIZER_CONFIG not in names:
        return Template.MISSING
    path = client.file_at(repository.repo_id, _TOKENIZER_CONFIG, repository.commit)
    return Template.PRESENT if read_json(path).get("chat_template") else Template.MISSING


def _fit(spec: ModelSpec, plan: FilePlan, is_quantized: bool) -> MachineFit:
    """Of a quantized source first the row of its own grid, its bytes spread evenly."""
    if not is_quantized:
        return fit_machine(spec, None)
    num_weights = sum(prod(shape) for _, shape in iter_linears(spec))

    def on_card(_name: str, shape: tuple[int, int]) -> int:
        return plan.weight_bytes * prod(shape) // num_weights

    return fit_machine(spec, ExactSizes(plan.weight_bytes, on_card))
