"""What a conversion will do, told before it begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.checkpoint.schemes import TensorPath
from app.converter.budget import Budget, choose_bits, count_bits
from app.converter.grids import Grid, GridPlan, plan_linear, planned_bytes, resolve_grid
from app.converter.sources.base import Source, SourceLinear
from app.core.errors import UsageError
from app.core.events import ConversionPlan, PlannedGroup
from app.engine.memory_plan import workspace_bytes
from app.spec.registry import create_spec
from app.spec.weights import VOCABULARY_LINEARS, num_parameters


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asks for: a grid by name, a group size, and for w3w4 a budget in bytes."""

    grid: str = "auto"
    group_size: int = 128
    vram_budget: int | None = None


@dataclass(frozen=True, slots=True)
class DetailedPlan:
    """The plan to show, and how each linear is stored, by canonical name."""

    summary: ConversionPlan
    linears: Mapping[str, GridPlan]


def plan_conversion(
    source: Source, output: Path, grid: str, group_size: int, vram_budget: int | None = None
) -> ConversionPlan:
    """The plan, one group for each (source type, target); reads weights for w3w4 only.

    Raises UnsupportedError for a configuration that no executor runs, UsageError for an unknown
    grid or a budget without w3w4 (or the other way round), ResourceError for one that cannot be
    met.
    """
    return plan_in_detail(source, output, Options(grid, group_size, vram_budget)).summary


def plan_in_detail(
    source: Source, output: Path, options: Options, num_threads: int = 1
) -> DetailedPlan:
    """As `plan_conversion`, with the linears; `num_threads` measure for w3w4."""
    spec = create_spec(source.config)
    grid = resolve_grid(_parse_grid(options), source.is_quantized)
    linears = [linear for part in source.parts() for linear in part.linears]
    vector_bytes = sum(vector.source_bytes for part in source.parts() for vector in part.vectors)
    notes = source.notes
    if options.vram_budget is not None:
        budget = Budget(options.vram_budget, workspace_bytes(spec), vector_bytes)
        plans = choose_bits(linears, options.group_size, budget, num_threads)
        notes += (_budget_note(linears, plans, budget),)
    else:
        plans = {linear.name: plan_linear(linear, grid, options.group_size) for linear in linears}
    groups = _group(linears, plans)
    summary = ConversionPlan(
        source=source.path,
        output=output,
        format=source.format,
        architecture=spec.architecture,
        name=source.name,
        grid=grid.value,
        num_layers=spec.num_hidden_layers,
        num_parameters=num_parameters(spec),
        groups=groups,
        source_bytes=source.source_bytes,
        output_bytes=sum(group.output_bytes for group in groups) + vector_bytes,
        notes=notes + _vocabulary_notes(grid, plans),
    )
    return DetailedPlan(summary, plans)


def _parse_grid(options: Options) -> Grid:
    try:
        grid = Grid(options.grid)
    except ValueError:
        known = ", ".join(grid.value for grid in Grid)
        raise UsageError(f"The grid {options.grid!r} is not known; known are {known}.") from None
    if (grid is Grid.W3W4) != (options.vram_budget is not None):
        raise UsageError("The grid w3w4 and --vram-budget need each other.")
    return grid


def _budget_note(linears: list[SourceLinear], plans: Mapping[str, GridPlan], budget: Budget) -> str:
    weights = sum(planned_bytes(linear, plans[linear.name]) for linear in linears)
    bits = ", ".join(f"{count} at {bits} bits" for bits, count in count_bits(plans).items())
    return (
        f"Budget {budget.limit_bytes:,} bytes: weights {weights + budget.vector_bytes:,}, "
        f"workspace {budget.workspace_bytes:,}; linears: {bits}. The KV cache comes on top."
    )


def _vocabulary_notes(grid: Grid, plans: Mapping[str, GridPlan]) -> tuple[str, ...]:
    """Says which linears keep more bits than the grid's name promises."""
    if grid not in (Grid.W3, Grid.W4, Grid.W3W4):
        return ()
    kept = [f"{name} ({_label(plans[name])})" for name in VOCABULARY_LINEARS if name in plans]
    return (f"Not on this grid, because it would cost most there: {', '.join(kept)}.",)


def _label(plan: GridPlan) -> str:
    return plan.quant.label if plan.quant else "dense"


def _group(linears: list[SourceLinear], plans: Mapping[str, GridPlan]) -> tuple[PlannedGroup, ...]:
    rows: dict[tuple[str, str, TensorPath], list[SourceLinear]] = {}
    for linear in linears:
        plan = plans[linear.name]
        key = (linear.source_type, _target_label(linear, plan), plan.path)
        rows.setdefault(key, []).append(linear)
    return tuple(
        PlannedGroup(
            source_type=source_type,
            target=label,
            path=path.value,
            num_tensors=len(members),
            source_bytes=sum(linear.source_bytes for linear in members),
            output_bytes=sum(planned_bytes(linear, plans[linear.name]) for linear in members),
        )
        for (source_type, label, path), members in rows.items()
    )


def _target_label(linear: SourceLinear, plan: GridPlan) -> str:
    if plan.quant is not None:
        return plan.quant.label
    return "F32" if linear.is_quantized else linear.source_type
