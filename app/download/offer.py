"""Whether a model would run here, and with how much context, before a byte of its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from app.converter.sources.foreign_folders import refuse_draft
from app.converter.sources.hf_folder import read_json
from app.converter.sources.linear_formats import check_method
from app.converter.sources.quantization_config import read_declaration
from app.core.errors import InvalidSourceError, UnsupportedError
from app.download.file_plan import FilePlan
from app.engine.fit import ExactSizes, MachineFit, fit_machine
from app.engine.memory_plan import FitRow
from app.hub.client import HubClient
from app.hub.repository import Repository
from app.spec.gguf_config import architecture_of
from app.spec.gguf_head import GgufHead, read_gguf_head
from app.spec.model_spec import ModelSpec
from app.spec.registry import create_spec
from app.spec.weights import iter_linears

# Of a GGUF file, however long it is.
MAX_HEAD_BYTES = 2_000_000
_SIDECAR = "quantize_config.json"  # AutoGPTQ's, beside a config.json that says nothing


@dataclass(frozen=True, slots=True)
class Offer:
    """`status` is convert (runs after a conversion) | refused, with the reason.

    `architecture` and `fit` are '' and None where the model is refused or the start of the file
    does not tell its sizes.
    """

    plan: FilePlan
    status: str
    reason: str
    architecture: str = ""
    fit: MachineFit | None = None

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
        spec, is_quantized = _read_spec(client, repository, smallest)
    except UnsupportedError as error:
        return tuple(Offer(plan, "refused", error.message) for plan in plans)
    if spec is None:
        unknown = "Its architecture runs; its sizes are not known yet."
        return tuple(Offer(plan, "convert", unknown) for plan in plans)
    reason = "It runs after conversion."
    return tuple(
        Offer(plan, "convert", reason, spec.architecture, _fit(spec, plan, is_quantized))
        for plan in plans
    )


def _read_spec(
    client: HubClient, repository: Repository, plan: FilePlan
) -> tuple[ModelSpec | None, bool]:
    """The model, and whether it is stored quantized."""
    if not plan.main:
        return _read_folder(client, repository)
    total = next(file.num_bytes for file in plan.files if file.path == plan.main)
    head = client.read_head(repository, plan.main, min(total, MAX_HEAD_BYTES))
    return _spec_of(read_gguf_head(head, file=plan.main, total_bytes=total)), True


def _spec_of(head: GgufHead) -> ModelSpec | None:
    architecture_of(head.metadata, head.file)
    try:
        return create_spec(head.config())
    except InvalidSourceError:
        if head.tensors is not None:
            raise
        return None  # the missing key may stand behind the vocabulary


def _read_folder(client: HubClient, repository: Repository) -> tuple[ModelSpec, bool]:
    path = client.small_file(repository.repo_id, "config.json", repository.commit)
    if any(file.path == _SIDECAR for file in repository.files):
        client.small_file(repository.repo_id, _SIDECAR, repository.commit)
    config = read_json(path)
    declaration = read_declaration(config, path.parent)
    check_method(declaration, repository.repo_id)
    refuse_draft(config, repository.repo_id)
    return create_spec(config), declaration is not None


def _fit(spec: ModelSpec, plan: FilePlan, is_quantized: bool) -> MachineFit:
    """Of a quantized source first the row of its own grid, its bytes spread evenly."""
    if not is_quantized:
        return fit_machine(spec, None)
    num_weights = sum(prod(shape) for _, shape in iter_linears(spec))

    def on_card(_name: str, shape: tuple[int, int]) -> int:
        return plan.weight_bytes * prod(shape) // num_weights

    return fit_machine(spec, ExactSizes(plan.weight_bytes, on_card))
