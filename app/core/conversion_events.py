"""What a conversion tells: its plan, how far it is, and the report at its end."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from app.core.events import Event


@dataclass(frozen=True, slots=True)
class PlannedGroup:
    """One row of the plan: the tensors of one source type and what becomes of them."""

    source_type: str
    target: str
    path: str
    num_tensors: int
    source_bytes: int
    output_bytes: int


@dataclass(frozen=True, slots=True)
class ConversionPlan:
    """What will be done, before the first weight byte is read.

    `output_bytes` is the whole folder; `memory_bytes` what running it takes: weights, workspace and
    the KV cache of `memory_context` tokens. `num_kept_parts` files of `num_parts` stand in the
    working folder of an earlier conversion with these very options, which can be resumed.
    """

    source: Path
    output: Path
    format: str
    architecture: str
    name: str
    grid: str
    num_layers: int
    num_parameters: int
    groups: tuple[PlannedGroup, ...]
    source_bytes: int
    output_bytes: int
    notes: tuple[str, ...] = ()
    group_size: int = 128
    vram_budget: int | None = None
    memory_bytes: int = 0
    memory_context: int = 0
    num_parts: int = 0
    num_kept_parts: int = 0
    allow_lossy: bool = False


@dataclass(frozen=True, slots=True)
class MeasuringProgressed(Event):
    """Before the plan of w3w4: what 3 bits cost is measured, in `num_done` of `num_linears`."""

    num_done: int
    num_linears: int


@dataclass(frozen=True, slots=True)
class ConversionPlanned(Event):
    """The first event of a conversion, after MeasuringProgressed."""

    plan: ConversionPlan


@dataclass(frozen=True, slots=True)
class ConversionProgressed(Event):
    """After each tensor, and several times within a large one. Bytes are the source's.

    `step` names the file being written (`embed`, `layer 3`, `lm_head`), `tensor` the linear that
    was worked on last ('' for a whole part); `eta_s` is None until there is a speed to go by.
    `compared_grid` names the grid of a conversion that is made only to be compared with.
    """

    step: str
    num_steps_done: int
    num_steps: int
    done_bytes: int
    total_bytes: int
    elapsed_s: float
    tensor: str = ""
    eta_s: float | None = None
    compared_grid: str = ""


@dataclass(frozen=True, slots=True)
class EvaluationProgressed(Event):
    """A finished conversion to `grid` is evaluated: `num_done` of `num_tokens` are predicted."""

    grid: str
    num_done: int
    num_tokens: int


@dataclass(frozen=True, slots=True)
class TensorReport:
    """One linear's outcome. `rel_err` is ||W' - W|| / ||W|| against the source's own decoding."""

    name: str
    source_type: str
    path: str
    target: str
    rel_err: float
    output_bytes: int


@dataclass(frozen=True, slots=True)
class PartReport:
    """One file of the checkpoint: the paths of its linears, their errors and bytes together."""

    part: str
    paths: tuple[str, ...]
    rel_err_mean: float
    rel_err_max: float
    output_bytes: int


@dataclass(frozen=True, slots=True)
class GridEvaluation:
    """What a conversion to `grid` does to the predictions, against the source decoded densely.

    KL(source || converted) is in nats per token. `proven`: every weight decodes to the source's own
    bits, so that KL is 0 and agreement 1 without being measured. `source_perplexity` is that of the
    source decoded densely. `memory_bytes` as in ConversionPlan.
    """

    grid: str
    output_bytes: int
    rel_err_max: float
    num_tokens: int
    perplexity: float
    kl_mean: float
    kl_max: float
    top1_agreement: float
    proven: bool
    source_perplexity: float = 0.0
    memory_bytes: int = 0


@dataclass(frozen=True, slots=True)
class ConversionReport:
    """The quality report; `lossless`: every tensor decodes as the source does, bit for bit.

    `evaluations` is empty unless asked for; then the first row is this conversion, the others are
    the grids that it was compared with.
    """

    output: Path
    format: str
    architecture: str
    lossless: bool
    num_exact: int
    num_grid: int
    num_requant: int
    num_dense: int
    rel_err_max: float
    source_bytes: int
    output_bytes: int
    seconds: float
    peak_rss_bytes: int
    tensors: tuple[TensorReport, ...] = field(default=())
    notes: tuple[str, ...] = ()
    evaluations: tuple[GridEvaluation, ...] = ()
    grid: str = "auto"
    parts: tuple[PartReport, ...] = ()


@dataclass(frozen=True, slots=True)
class ConversionFinished(Event):
    """The last event of a conversion that succeeded."""

    report: ConversionReport


@dataclass(frozen=True, slots=True)
class EvaluationFinished(Event):
    """The last event of an evaluation of a finished checkpoint, asked for afterwards."""

    evaluations: tuple[GridEvaluation, ...]
