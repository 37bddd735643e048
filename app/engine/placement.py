"""Where a checkpoint runs: planned for a device, then loaded; `auto` may turn to the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from app.checkpoint.layout import stored_bytes
from app.checkpoint.reader import Checkpoint
from app.checkpoint.schemes import TensorPath
from app.core.cards import Card, read_memory
from app.core.cleanup import undone_on_failure
from app.core.device import DeviceChoice, fall_back
from app.core.errors import (
    MemoryShortageError,
    MissingExtraError,
    OutOfMemoryError,
    ResourceError,
    UnsupportedError,
)
from app.core.memory_shortage import MemoryShortage
from app.core.wddm import shared_bytes
from app.engine.card_watch import CardWatch
from app.engine.executors import factory
from app.engine.executors.base import Executor
from app.engine.executors.block_tables import KV_PAGE_TOKENS, pages_for
from app.engine.memory_holders import card_holders, memory_holders
from app.engine.memory_plan import (
    GRID_BITS,
    ExecutorCosts,
    MemoryPlan,
    available_memory_bytes,
    grid_weights_bytes,
    memory_shortage,
    plan_memory,
)
from app.engine.vram_plan import (
    KvOptions,
    VramPlan,
    card_state_beside,
    measured_state,
    plan_vram,
    stored_weights_bytes,
    vram_shortage,
)
from app.spec.model_spec import ModelSpec
from app.spec.weights import VOCABULARY_LINEARS

if TYPE_CHECKING:
    from app.engine.executors.cuda.launcher import Launcher


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """`max_model_len` None: as much of the model's own context as fits. `activations` is one of
    `app.core.device.ACTIVATIONS`, `kv_dtype` one of its `KV_DTYPES`.

    `num_slots` sequences run at once: at most so many of one pool (`app.engine.pool_plan`), or,
    without `shares_pages`, exactly so many, each with pages of its own for a whole context.
    """

    max_model_len: int | None = None
    num_slots: int = 8
    activations: str = "int8"
    kv_dtype: str = "fp16"
    shares_pages: bool = True


@dataclass(frozen=True, slots=True)
class Placement:
    """A loaded executor, and what was planned; `vram` and `card_watch` are set on a card.

    `describe_shortage` says what would help when an allocation fails while it runs.
    """

    executor: Executor
    note: str
    max_model_len: int
    kv_bytes_per_token: int
    describe_shortage: Callable[[], MemoryShortage]
    vram: VramPlan | None = None
    card_watch: CardWatch | None = None


def place(
    checkpoint: Checkpoint,
    spec: ModelSpec,
    choice: DeviceChoice,
    options: LoadOptions,
    is_auto: bool,
) -> Placement:
    """Plans and loads.

    With `is_auto`, what the card cannot run or hold runs on the CPU, and `note` says why. Raises
    UnsupportedError for a model that is refused, MemoryShortageError when it does not fit,
    UsageError for a context it cannot have, and MissingExtraError for a device whose package is
    missing.
    """
    if choice.card is not None:
        try:
            return _place_on_card(checkpoint, spec, choice, choice.card, options)
        except (MissingExtraError, ResourceError, UnsupportedError) as reason:
            if not is_auto:
                raise
            choice = fall_back(reason)
    return _place_in_memory(checkpoint, spec, choice, options)


@contextmanager
def _naming_holders(card: Card) -> Iterator[None]:
    """A shortage says who has the card's memory, too."""
    try:
        yield
    except MemoryShortageError as error:
        error.with_holders(card_holders(card))
        raise


def _place_on_card(
    checkpoint: Checkpoint, spec: ModelSpec, choice: DeviceChoice, card: Card, options: LoadOptions
) -> Placement:
    from app.engine.executors.cuda.executor import CudaExecutor, check_runnable

    check_runnable(spec)
    kv_dtype = CudaExecutor.kv_dtype_for(options.kv_dtype)
    weights_bytes = stored_weights_bytes(checkpoint, spec)
    before = read_memory(card)
    kv = KvOptions(kv_dtype, options.num_slots, options.max_model_len, options.shares_pages)
    launcher = factory.create_launcher()
    with undone_on_failure(launcher.close):
        shared_before = shared_bytes(card.luid)
        with _naming_holders(card):
            state = measured_state(card, before, launcher.memory())
            plan = plan_vram(spec, weights_bytes, state, kv)
            _reserve(launcher, spec, plan, kv)
        executor = CudaExecutor(
            checkpoint,
            spec,
            plan.max_model_len,
            plan.num_slots,
            _pool_of(plan),
            launcher=launcher,
            kv_dtype=kv_dtype,
        )
        card_watch = CardWatch(card, launcher, state, shared_before)

    def describe_shortage() -> MemoryShortage:
        """Now: what the executor holds already is its own to use."""
        now = card_state_beside(launcher.memory(), state, plan.needed_bytes)
        options = replace(kv, num_slots=plan.num_slots)
        length = plan.max_model_len
        shortage = vram_shortage(spec, weights_bytes, now, options, length, length)
        return replace(shortage, holders=card_holders(card))

    return Placement(
        executor,
        choice.note,
        plan.max_model_len,
        plan.kv_bytes_per_token,
        describe_shortage,
        plan,
        card_watch,
    )


def _reserve(launcher: Launcher, spec: ModelSpec, plan: VramPlan, kv: KvOptions) -> None:
    """Takes the planned memory; MemoryShortageError where others were faster."""
    try:
        launcher.reserve(plan.needed_bytes)
    except OutOfMemoryError as error:
        state = card_state_beside(launcher.memory(), plan.state, 0)
        length = plan.max_model_len
        shortage = vram_shortage(spec, plan.weights_bytes, state, kv, length, length)
        raise MemoryShortageError(error.message, detail=error.detail, shortage=shortage) from error


def _place_in_memory(
    checkpoint: Checkpoint, spec: ModelSpec, choice: DeviceChoice, options: LoadOptions
) -> Placement:
    costs = _memory_costs(checkpoint, spec, choice.device, options)
    available = available_memory_bytes()
    try:
        plan = plan_memory(
            spec, costs, available, options.max_model_len, options.num_slots, options.shares_pages
        )
    except MemoryShortageError as error:
        error.with_holders(memory_holders())
        raise
    describe = partial(_describe_memory, spec, costs, plan)
    try:
        executor = factory.create_executor(
            choice.device,
            checkpoint,
            spec,
            plan.max_model_len,
            plan.num_slots,
            options.activations,
            options.kv_dtype,
            num_pages=_pool_of(plan),
        )
    except (MemoryError, OutOfMemoryError) as error:
        raise MemoryShortageError(
            "The machine has run out of memory while the model was loaded.",
            detail=repr(error),
            shortage=describe(),
        ) from error
    return Placement(
        executor,
        choice.note,
        plan.max_model_len,
        plan.kv_bytes_per_token,
        lambda: describe(executor.memory_use().total_bytes),
    )


def _memory_costs(
    checkpoint: Checkpoint, spec: ModelSpec, device: str, options: LoadOptions
) -> ExecutorCosts:
    kind = factory.executor_class(device)
    return ExecutorCosts(
        kind.plan_weights_bytes(checkpoint, spec, options.activations),
        kind.kv_dtype_for(options.kv_dtype),
        kind.expands_latents,
        "int8" in kind.kv_dtypes,
        _w3_bytes(checkpoint, spec, kind, options) if kind.keeps_weights_packed else None,
    )


def _w3_bytes(
    checkpoint: Checkpoint, spec: ModelSpec, kind: type[Executor], options: LoadOptions
) -> int:
    """Were the same source converted to w3, which leaves vocabularies on a native grid alone."""
    kept = {
        name: stored_bytes(record.quant, record.shape)
        - kind.saved_bytes(
            record.shape, record.quant, record.provenance.source_type, options.activations
        )
        for name in VOCABULARY_LINEARS
        if (record := checkpoint.manifest.linears.get(name)) is not None
        and record.quant is not None
        and record.provenance.path is TensorPath.EXACT
    }
    return grid_weights_bytes(spec, GRID_BITS["w3"], kept)


def _describe_memory(
    spec: ModelSpec, costs: ExecutorCosts, plan: MemoryPlan, own_bytes: int = 0
) -> MemoryShortage:
    """Now: what the executor holds already, `own_bytes`, is its own to use."""
    kv_bytes = plan.state_bytes + plan.num_pages * KV_PAGE_TOKENS * plan.kv_bytes_per_token
    available, length = available_memory_bytes() + own_bytes, plan.max_model_len
    shortage = memory_shortage(spec, costs, available, length, kv_bytes, limit=length)
    return replace(shortage, holders=memory_holders())


def _pool_of(plan: MemoryPlan | VramPlan) -> int | None:
    """`Executor`'s `num_pages`: where all slots have room, each has pages of its own at first."""
    own = plan.num_slots * pages_for(plan.max_model_len)
    return None if plan.num_pages == own else plan.num_pages
