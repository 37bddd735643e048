"""What a conversion will do, told before the first weight byte is read."""

from __future__ import annotations

from pathlib import Path

from app.converter.sources.base import Source, SourceLinear
from app.converter.targets import Target, find_target, resolve_grid
from app.core.events import ConversionPlan, PlannedGroup
from app.spec.registry import create_spec
from app.spec.weights import num_parameters


def plan_conversion(source: Source, output: Path, grid: str, group_size: int) -> ConversionPlan:
    """The plan, one group for each (source type, target). Raises UnsupportedError for a configuration
    that no executor runs, UsageError for an unknown grid.
    """
    spec = create_spec(source.config)
    resolved = resolve_grid(grid, source)
    groups = _group(source, resolved, group_size)
    vector_bytes = sum(vector.source_bytes for part in source.parts() for vector in part.vectors)
    return ConversionPlan(
        source=source.path,
        output=output,
        format=source.format,
        architecture=spec.architecture,
        name=source.name,
        grid=resolved,
        num_layers=spec.num_hidden_layers,
        num_parameters=num_parameters(spec),
        groups=groups,
        source_bytes=source.source_bytes,
        output_bytes=sum(group.output_bytes for group in groups) + vector_bytes,
        notes=source.notes,
    )


def _group(source: Source, grid: str, group_size: int) -> tuple[PlannedGroup, ...]:
    rows: dict[tuple[str, str, str], list[tuple[SourceLinear, Target]]] = {}
    for part in source.parts():
        for linear in part.linears:
            target = find_target(linear, grid, group_size)
            key = (linear.source_type, target.label(linear), target.path.value)
            rows.setdefault(key, []).append((linear, target))
    return tuple(
        PlannedGroup(
            source_type=source_type,
            target=label,
            path=path,
            num_tensors=len(members),
            source_bytes=sum(linear.source_bytes for linear, _ in members),
            output_bytes=sum(target.num_bytes(linear) for linear, target in members),
        )
        for (source_type, label, path), members in rows.items()
    )
