"""`w3w4`: which linears go to 3 bits so that the model fits a memory budget.

All start at 4 bits. Then those go to 3 whose squared relative error grows least for each byte that
it saves, until weights and workspace fit. The errors are measured on a sample of rows, so the same
source and budget always give the same choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

import numpy as np

from app.converter.grids import (
    ERROR_LIMITS,
    TARGET_BITS,
    Floats,
    Grid,
    GridPlan,
    iter_dense,
    plan_linear,
    planned_bytes,
)
from app.converter.requantize import SourceMatrix, requantize
from app.converter.sources.base import SourceLinear
from app.core.errors import ResourceError
from app.spec.weights import VOCABULARY_LINEARS

# The first of every 16 blocks of rows, of the first 64. On the starter model's linears, which have
# one to four blocks, that finds errors within 2 % of those of the whole matrix.
_BLOCK_STRIDE, _NUM_BLOCKS = 16, 64
_FULL, _REDUCED = Grid.W4, Grid.W3

Progress = Callable[[int, int], None]  # done, total


@dataclass(frozen=True, slots=True)
class Budget:
    """Bytes that weights, workspace and small tensors may take together."""

    limit_bytes: int
    workspace_bytes: int
    vector_bytes: int

    @property
    def linears_bytes(self) -> int:
        """What is left for the linears."""
        return self.limit_bytes - self.workspace_bytes - self.vector_bytes


@dataclass(frozen=True, slots=True)
class _Reduction:
    """What going to 3 bits saves and costs for one linear."""

    name: str
    saved_bytes: int
    added_error: float

    @property
    def price(self) -> float:
        return self.added_error / self.saved_bytes


def choose_bits(
    linears: Iterable[SourceLinear],
    group_size: int,
    budget: Budget,
    num_threads: int = 1,
    on_progress: Progress = lambda done, total: None,
) -> dict[str, GridPlan]:
    """A plan for each linear, by name; the bytes of all together fit the budget.

    `on_progress` hears how many linears were measured; nothing, where 4 bits fit everywhere.

    Raises ResourceError with the numbers when even 3 bits everywhere do not fit.
    """
    sources = list(linears)
    plans = {source.name: _plan(source, _FULL, group_size) for source in sources}
    total = sum(planned_bytes(source, plans[source.name]) for source in sources)
    if total <= budget.linears_bytes:
        return plans
    by_name = {source.name: source for source in sources}
    for reduction in _reductions(sources, group_size, num_threads, on_progress):
        plans[reduction.name] = _plan(by_name[reduction.name], _REDUCED, group_size)
        total -= reduction.saved_bytes
        if total <= budget.linears_bytes:
            return plans
    raise ResourceError(
        "The budget of {limit_bytes:,} bytes cannot be met: with 3 bits wherever they are "
        "tolerable, weights take {weights_bytes:,} and the workspace {workspace_bytes:,}.",
        limit_bytes=budget.limit_bytes,
        weights_bytes=total + budget.vector_bytes,
        workspace_bytes=budget.workspace_bytes,
    )


def count_bits(plans: Mapping[str, GridPlan]) -> dict[int, int]:
    """How many linears are stored at each number of bits."""
    bits = sorted(plan.quant.bits for plan in plans.values() if plan.quant)
    return {width: bits.count(width) for width in dict.fromkeys(bits)}


def measure_error(source: SourceLinear, plan: GridPlan) -> float:
    """Relative error of storing a sample of the rows as planned."""
    if plan.quant is None:
        return 0.0
    blocks = list(_iter_sample(source))
    matrix = SourceMatrix(
        source.source_name, (sum(map(len, blocks)), source.shape[1]), partial(_numbered, blocks)
    )
    return requantize(matrix, plan.quant.bits, plan.quant.group_size).rel_err


def _plan(source: SourceLinear, grid: Grid, group_size: int) -> GridPlan:
    """One that keeps its bits: the budget was counted with them."""
    return replace(plan_linear(source, grid, group_size), may_grow=False)


def _reductions(
    sources: list[SourceLinear], group_size: int, num_threads: int, on_progress: Progress
) -> list[_Reduction]:
    """Cheapest first; of equal price in the order of the layers."""
    layers = [source for source in sources if source.name not in VOCABULARY_LINEARS]
    with ThreadPoolExecutor(num_threads, thread_name_prefix="measure") as pool:
        contexts = [copy_context() for _ in layers]  # a cancel is heard in the pool too
        futures = [
            pool.submit(context.run, _reduction, source, group_size)
            for context, source in zip(contexts, layers, strict=True)
        ]
        found = _gather(futures, pool, on_progress)
    usable = [reduction for reduction in found if reduction is not None]
    return sorted(usable, key=lambda reduction: reduction.price)


def _gather(
    futures: list[Future[_Reduction | None]], pool: ThreadPoolExecutor, on_progress: Progress
) -> list[_Reduction | None]:
    """The results in order; the first failure ends what has not begun."""
    try:
        for num_done, future in enumerate(as_completed(futures), start=1):
            future.result()
            on_progress(num_done, len(futures))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return [future.result() for future in futures]


def _reduction(source: SourceLinear, group_size: int) -> _Reduction | None:
    """None where 3 bits save nothing or cost more than their limit."""
    full, reduced = (plan_linear(source, grid, group_size) for grid in (_FULL, _REDUCED))
    saved = planned_bytes(source, full) - planned_bytes(source, reduced)
    if saved <= 0:
        return None
    error = measure_error(source, reduced)
    if error > ERROR_LIMITS[TARGET_BITS[_REDUCED]]:
        return None
    return _Reduction(source.name, saved, error**2 - measure_error(source, full) ** 2)


def _iter_sample(source: SourceLinear) -> Iterator[Floats]:
    for _, block in islice(iter_dense(source), 0, _NUM_BLOCKS, _BLOCK_STRIDE):
        yield np.ascontiguousarray(block)


def _numbered(blocks: list[Floats]) -> Iterator[tuple[slice, Floats]]:
    start = 0
    for block in blocks:
        yield slice(start, start + len(block)), block
        start += len(block)
