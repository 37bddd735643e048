"""One source on its way to a checkpoint: what was asked, and the commands that say it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from app.core.conversion_events import ConversionPlan
from app.workers.commands import ConvertSource, EvaluateCheckpoint, PlanConversion


class ConversionState(StrEnum):
    """What the controller is doing; buttons bind to it.

    PLANNED waits for the user; so does REFUSED, whose options cannot be planned.
    """

    IDLE = "idle"
    PLANNING = "planning"
    PLANNED = "planned"
    REFUSED = "refused"
    CONVERTING = "converting"
    EVALUATING = "evaluating"
    CANCELLING = "cancelling"


@dataclass(frozen=True, slots=True)
class ConversionOptions:
    """How to convert, and what to measure afterwards; as the arguments of the pipeline.

    `vram_budget` in bytes belongs to the grid w3w4; `compare` names grids to measure beside.
    """

    grid: str = "auto"
    group_size: int = 128
    vram_budget: int | None = None
    allow_lossy: bool = False
    evaluate: bool = False
    compare: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConversionJob:
    """One source in the queue and how it shall be converted. `output` is the folder to appear;
    `starts_at_once` False: the plan waits for `ConversionController.start`. `resumes` goes on with
    what an interrupted conversion left.
    """

    job_id: int
    source: Path
    output: Path
    options: ConversionOptions = field(default_factory=ConversionOptions)
    tokenizer_dir: Path | None = None
    overwrite: bool = False
    starts_at_once: bool = True
    resumes: bool = False


def create_output_name(source: Path) -> str:
    """The folder in the library: the file's name without its ending, or the folder's name."""
    return source.stem if source.suffix.lower() == ".gguf" else source.name


def create_plan_command(job: ConversionJob, *, resume: bool) -> PlanConversion:
    """Asks for the plan; with `resume` for that of an interrupted conversion, if there is one."""
    options = job.options
    return PlanConversion(
        job.source,
        job.output,
        options.grid,
        options.group_size,
        job.tokenizer_dir,
        options.vram_budget,
        resume,
    )


def create_convert_command(job: ConversionJob) -> ConvertSource:
    """Asks for the checkpoint."""
    options = job.options
    return ConvertSource(
        source=job.source,
        output=job.output,
        grid=options.grid,
        group_size=options.group_size,
        tokenizer_dir=job.tokenizer_dir,
        overwrite=job.overwrite,
        vram_budget=options.vram_budget,
        allow_lossy=options.allow_lossy,
        evaluate=options.evaluate,
        compare=options.compare,
        resume=job.resumes,
    )


def create_evaluate_command(job: ConversionJob, compare: tuple[str, ...]) -> EvaluateCheckpoint:
    """Asks how good the finished checkpoint of a job is."""
    return EvaluateCheckpoint(
        job.source, job.output, compare, job.options.group_size, job.tokenizer_dir
    )


def kept_options(plan: ConversionPlan) -> ConversionOptions:
    """Those with which an interrupted conversion was begun."""
    return ConversionOptions(
        plan.grid, plan.group_size, plan.vram_budget, allow_lossy=plan.allow_lossy
    )
