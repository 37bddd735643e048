"""What a conversion will do, told before the first weight byte is read."""

from __future__ import annotations

from pathlib import Path

from app.converter.grids import Grid, GridPlan, plan_linear, planned_bytes, resolve_grid
from app.converter.sources.base import Source, SourceLinear
from app.core.errors import UsageError
from app.core.events import ConversionPlan, PlannedGroup
from app.spec.registry import create_spec
from app.spec.weights import num_parameters


def plan_conversion(source: Source, output: Path, grid: str, group_size: int) -> ConversionPlan:
    """The plan, one group for each (source type, target).

    Raises UnsupportedError for a configuration that no executor runs, UsageError for an unknown
    grid.
    """
    spec = create_spec(source.config)
    resolved = resolve_grid(_parse_grid(grid), source.is_quantized)
    groups = _group(source, resolved, group_size)
    vector_bytes = sum(vector.source_bytes for part in source.parts() for vector in part.vectors)
    return ConversionPlan(
        source=source.path,
        output=output,
        format=source.format,
        architecture=spec.architecture,
        name=source.name,
        grid=resolved.value,
        num_layers=spec.num_hidden_layers,
        num_parameters=num_parameters(spec),
        groups=groups,
        source_bytes=source.source_bytes,
        output_bytes=sum(group.output_bytes for group in groups) + vector_bytes,
        notes=source.notes,
    )


def _parse_grid(name: str) -> Grid:
    try:
        return Grid(name)
    except ValueError:
        known = ", ".join(grid.value for grid in Grid)
        raise UsageError(f"The grid {name!r} is not known; known are {known}.") from None


def _group(source: Source, grid: Grid, group_size: int) -> tuple[PlannedGroup, ...]:
    rows: dict[tuple[str, str, str], list[tuple[SourceLinear, GridPlan]]] = {}
    for part in source.parts():
        for linear in part.linears:
            plan = plan_linear(linear, grid, group_size)
            key = (linear.source_type, _target_label(linear, plan), plan.path.value)
            rows.setdefault(key, []).append((linear, plan))
    return tuple(
        PlannedGroup(
            source_type=source_type,
            target=label,
            path=path,
            num_tensors=len(members),
            source_bytes=sum(linear.source_bytes for linear, _ in members),
            output_bytes=sum(planned_bytes(linear, plan) for linear, plan in members),
        )
        for (source_type, label, path), members in rows.items()
    )


def _target_label(linear: SourceLinear, plan: GridPlan) -> str:
    if plan.quant is not None:
        return plan.quant.label
    return "F32" if linear.is_quantized else linear.source_type
