"""The fit table of this machine: the context that would fit, were a model stored so or so."""

from __future__ import annotations

from dataclasses import dataclass

from app.core.cards import Card
from app.core.device import choose_device
from app.core.errors import UnsupportedError
from app.core.sentence import Sentence
from app.engine.executors.cuda.executor import check_runnable
from app.engine.memory_plan import (
    GRID_BITS,
    FitRow,
    available_memory_bytes,
    fit_table,
    native_max_model_len,
)
from app.engine.vram_plan import (
    KvOptions,
    LinearSizes,
    card_kv_bytes_per_token,
    expected_state,
    grid_sizes,
    longest_context,
    sum_weights,
)
from app.spec.model_spec import ModelSpec


@dataclass(frozen=True, slots=True)
class ExactSizes:
    """Of the model as it is stored, or on its source's own grid.

    `memory_bytes` is what it takes in the cpu executor; `on_card` tells what each linear takes of
    a card.
    """

    memory_bytes: int
    on_card: LinearSizes


_NO_ARCHITECTURE = Sentence("The card cannot run this architecture yet.")


@dataclass(frozen=True, slots=True)
class MachineFit:
    """`device` is the one that `auto` chooses for this model here, `note` says why."""

    device: str
    note: str
    rows: list[FitRow]


def fit_machine(spec: ModelSpec, exact: ExactSizes | None) -> MachineFit:
    """One row per grid; without `exact` there is no row of that name."""
    choice = choose_device("auto")
    if choice.card is not None and _can_run(spec):
        return MachineFit(choice.device, choice.note, _card_rows(spec, choice.card, exact))
    exact_bytes = exact.memory_bytes if exact else None
    note = choice.note if choice.card is None else _NO_ARCHITECTURE
    rows = fit_table(spec, available_memory_bytes(), exact_bytes, "cpu")
    return MachineFit("cpu", note, rows)


def _can_run(spec: ModelSpec) -> bool:
    try:
        check_runnable(spec)
    except UnsupportedError:
        return False
    return True


def _card_rows(spec: ModelSpec, card: Card, exact: ExactSizes | None) -> list[FitRow]:
    state = expected_state(card)
    sizes = {grid: sum_weights(spec, grid_sizes(spec, bits)) for grid, bits in GRID_BITS.items()}
    if exact is not None:
        sizes = {"exact": sum_weights(spec, exact.on_card), **sizes}
    limit = native_max_model_len(spec)
    per_token = card_kv_bytes_per_token(spec, "fp16")
    return [
        FitRow(
            grid,
            size,
            per_token,
            *(
                longest_context(spec, size, state, KvOptions(kv_dtype), limit)
                for kv_dtype in ("fp16", "int8")
            ),
        )
        for grid, size in sizes.items()
    ]
