"""What a conversion will do, told before it begins."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.checkpoint.schemes import TensorPath
from app.converter.budget import Budget, choose_bits, count_bits
from app.converter.expected_memory import expect_memory
from app.converter.grids import Grid, GridPlan, plan_linear, planned_bytes, resolve_grid
from app.converter.sources.base import Source, SourceLinear
from app.core.conversion_events import ConversionPlan, MeasuringProgressed, PlannedGroup
from app.core.errors import UsageError
from app.core.events import Event
from app.core.sentence import Sentence
from app.engine.executors.factory import executor_class
from app.engine.memory_plan import workspace_bytes
from app.spec.model_spec import ModelSpec
from app.spec.registry import create_spec
from app.spec.weights import VOCABULARY_LINEARS, is_on_card, num_parameters

Listener = Callable[[Event], None]

# What one linear takes beside its arrays: in its file's header, the manifest and both reports, as
# measured on the starter model.
_RECORD_BYTES = 850
_BIAS_ITEMSIZE = 4


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asks for: a grid by name, a group size, and for w3w4 a budget in bytes."""

    grid: str = "auto"
    group_size: int = 128
    vram_budget: int | None = None


@dataclass(frozen=True, slots=True)
class DetailedPlan:
    """The plan to show; how each linear is stored, by canonical name; the text files by name;
    what all weights take in the memory of the executor that `auto` chooses."""

    summary: ConversionPlan
    linears: Mapping[str, GridPlan]
    texts: Mapping[str, str]
    memory_bytes: int


def plan_in_detail(
    source: Source,
    output: Path,
    options: Options,
    num_threads: int = 1,
    listener: Listener = lambda event: None,
) -> DetailedPlan:
    """Plans; reads weights for w3w4 only: then the listener hears MeasuringProgressed.

    Raises UnsupportedError for a configuration that no executor runs, UsageError for an unknown
    grid or a budget without w3w4 (or the other way round), ResourceError for one that cannot be
    met.
    """
    spec = create_spec(source.config)
    resolved = replace(options, grid=resolve_grid(_parse_grid(options), source.is_quantized))
    choice = _choose(source, spec, resolved, num_threads, listener)
    texts = {"config.json": _to_json(source.config), **dict(source.iter_text_files())}
    summary = _summarise(source, output, spec, resolved, choice, texts)
    return DetailedPlan(summary, choice.plans, texts, choice.memory_bytes)


@dataclass(frozen=True, slots=True)
class _Choice:
    """How each linear will be stored, and what that takes on disk and in memory."""

    linears: tuple[SourceLinear, ...]
    plans: Mapping[str, GridPlan]
    vector_bytes: int
    notes: tuple[str, ...] = ()

    @property
    def weights_bytes(self) -> int:
        biases = sum(x.shape[0] * _BIAS_ITEMSIZE for x in self.linears if x.load_bias is not None)
        stored = sum(planned_bytes(x, self.plans[x.name]) for x in self.linears)
        return stored + biases + self.vector_bytes

    @property
    def memory_bytes(self) -> int:
        """What the weights take in the memory of the executor that `auto` chooses."""
        kind, exact = executor_class("auto"), TensorPath.EXACT
        plans = ((linear, self.plans[linear.name]) for linear in self.linears)
        return self.weights_bytes - sum(
            kind.saved_bytes(linear.shape, plan.quant, linear.source_type, "int8")
            for linear, plan in plans
            if plan.path is exact
        )


def _choose(
    source: Source, spec: ModelSpec, options: Options, num_threads: int, listener: Listener
) -> _Choice:
    parts = source.parts()
    linears = tuple(linear for part in parts for linear in part.linears)
    vector_bytes = sum(vector.source_bytes for part in parts for vector in part.vectors)
    grid, group_size = Grid(options.grid), options.group_size
    if options.vram_budget is None:
        plans = {linear.name: plan_linear(linear, grid, group_size) for linear in linears}
        return _Choice(linears, plans, vector_bytes)

    def tell(num_done: int, num_linears: int) -> None:
        listener(MeasuringProgressed(num_done, num_linears))

    budget = Budget(options.vram_budget, workspace_bytes(spec), vector_bytes)
    on_card = [linear for linear in linears if is_on_card(spec, linear.name)]
    on_host = [linear for linear in linears if not is_on_card(spec, linear.name)]
    plans = {linear.name: plan_linear(linear, Grid.W4, group_size) for linear in on_host}
    plans |= choose_bits(on_card, group_size, budget, num_threads, tell)
    choice = _Choice(linears, plans, vector_bytes)
    return replace(choice, notes=(_budget_note(choice, budget),))


def _summarise(
    source: Source,
    output: Path,
    spec: ModelSpec,
    options: Options,
    choice: _Choice,
    texts: Mapping[str, str],
) -> ConversionPlan:
    memory = expect_memory(spec, choice.memory_bytes)
    records = _RECORD_BYTES * len(choice.linears)
    return ConversionPlan(
        source=source.path,
        output=output,
        format=source.format,
        architecture=spec.architecture,
        name=source.name,
        grid=str(options.grid),
        num_layers=spec.num_hidden_layers,
        num_parameters=num_parameters(spec),
        groups=_group(choice),
        source_bytes=source.source_bytes,
        output_bytes=choice.weights_bytes + records + sum(len(t.encode()) for t in texts.values()),
        notes=source.notes + choice.notes + _vocabulary_notes(Grid(options.grid), choice.plans),
        group_size=options.group_size,
        vram_budget=options.vram_budget,
        memory_bytes=memory.num_bytes,
        memory_context=memory.context,
        num_parts=len(source.parts()),
    )


def _parse_grid(options: Options) -> Grid:
    try:
        grid = Grid(options.grid)
    except ValueError:
        known = ", ".join(grid.value for grid in Grid)
        raise UsageError(
            "The grid {grid!r} is not known; known are {known}.", grid=options.grid, known=known
        ) from None
    if (grid is Grid.W3W4) != (options.vram_budget is not None):
        raise UsageError("The grid w3w4 and --vram-budget need each other.")
    return grid


def _budget_note(choice: _Choice, budget: Budget) -> str:
    bits = ", ".join(
        Sentence("{count} at {bits} bits", count=count, bits=bits)
        for bits, count in count_bits(choice.plans).items()
    )
    return Sentence(
        "Budget {limit_bytes:,} bytes: weights {weights_bytes:,}, workspace "
        "{workspace_bytes:,}; linears: {bits}. The KV cache comes on top; an embedding "
        "that is not the lm_head too counts as weights, but takes no memory of a card.",
        limit_bytes=budget.limit_bytes,
        weights_bytes=choice.weights_bytes,
        workspace_bytes=budget.workspace_bytes,
        bits=bits,
    )


def _vocabulary_notes(grid: Grid, plans: Mapping[str, GridPlan]) -> tuple[str, ...]:
    """Says which linears keep more bits than the grid's name promises."""
    if grid not in (Grid.W3, Grid.W4, Grid.W3W4):
        return ()
    kept = [f"{name} ({_label(plans[name])})" for name in VOCABULARY_LINEARS if name in plans]
    return (
        Sentence(
            "Not on this grid, because it would cost most there: {kept}.", kept=", ".join(kept)
        ),
    )


def _label(plan: GridPlan) -> str:
    return plan.quant.label if plan.quant else "dense"


def _group(choice: _Choice) -> tuple[PlannedGroup, ...]:
    rows: dict[tuple[str, str, TensorPath], list[SourceLinear]] = {}
    for linear in choice.linears:
        plan = choice.plans[linear.name]
        key = (linear.source_type, _target_label(linear, plan), plan.path)
        rows.setdefault(key, []).append(linear)
    return tuple(
        PlannedGroup(
            source_type=source_type,
            target=label,
            path=path.value,
            num_tensors=len(members),
            source_bytes=sum(linear.source_bytes for linear in members),
            output_bytes=sum(planned_bytes(x, choice.plans[x.name]) for x in members),
        )
        for (source_type, label, path), members in rows.items()
    )


def _target_label(linear: SourceLinear, plan: GridPlan) -> str:
    if plan.quant is not None:
        return plan.quant.label
    return "F32" if linear.is_quantized else linear.source_type


def _to_json(values: dict[str, Any]) -> str:
    return json.dumps(values, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
