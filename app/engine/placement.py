"""Where a checkpoint runs: planned for a device, then loaded; `auto` may turn to the CPU."""

from __future__ import annotations

from dataclasses import dataclass

from app.checkpoint.reader import Checkpoint
from app.core.cards import Card, read_memory
from app.core.device import DeviceChoice, fall_back
from app.core.errors import MissingExtraError, ResourceError, UnsupportedError
from app.engine.card_watch import CardWatch
from app.engine.executors import factory
from app.engine.executors.base import Executor
from app.engine.executors.block_tables import pages_for
from app.engine.memory_plan import ExecutorCosts, MemoryPlan, available_memory_bytes, plan_memory
from app.engine.vram_plan import (
    KvOptions,
    VramPlan,
    measured_state,
    plan_vram,
    stored_weights_bytes,
)
from app.spec.model_spec import ModelSpec


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
    """A loaded executor, and what was planned; `vram` and `card_watch` are set on a card."""

    executor: Executor
    note: str
    max_model_len: int
    kv_bytes_per_token: int
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
    UnsupportedError for a model that is refused, ResourceError when it does not fit, UsageError
    for a context it cannot have, and MissingExtraError for a device whose package is missing.
    """
    if choice.card is not None:
        try:
            return _place_on_card(checkpoint, spec, choice, choice.card, options)
        except (MissingExtraError, ResourceError, UnsupportedError) as reason:
            if not is_auto:
                raise
            choice = fall_back(reason)
    return _place_in_memory(checkpoint, spec, choice, options)


def _place_on_card(
    checkpoint: Checkpoint, spec: ModelSpec, choice: DeviceChoice, card: Card, options: LoadOptions
) -> Placement:
    from app.engine.executors.cuda.executor import CudaExecutor, check_runnable

    check_runnable(spec)
    kv_dtype = CudaExecutor.kv_dtype_for(options.kv_dtype)
    weights_bytes = stored_weights_bytes(checkpoint, spec)
    before = read_memory(card)
    launcher = factory.create_launcher()
    try:
        state = measured_state(card.name, before, launcher.memory())
        kv = KvOptions(kv_dtype, options.num_slots, options.max_model_len, options.shares_pages)
        plan = plan_vram(spec, weights_bytes, state, kv)
        launcher.reserve(plan.needed_bytes)
    except BaseException:
        launcher.close()
        raise
    executor = CudaExecutor(
        checkpoint,
        spec,
        plan.max_model_len,
        plan.num_slots,
        _pool_of(plan),
        launcher=launcher,
        kv_dtype=kv_dtype,
    )
    watch = CardWatch(card, launcher, state)
    return Placement(
        executor, choice.note, plan.max_model_len, plan.kv_bytes_per_token, plan, watch
    )


def _place_in_memory(
    checkpoint: Checkpoint, spec: ModelSpec, choice: DeviceChoice, options: LoadOptions
) -> Placement:
    kind = factory.executor_class(choice.device)
    costs = ExecutorCosts(
        kind.plan_weights_bytes(checkpoint, spec),
        kind.kv_dtype_for(options.kv_dtype),
        kind.expands_latents,
    )
    available = available_memory_bytes()
    plan = plan_memory(
        spec, costs, available, options.max_model_len, options.num_slots, options.shares_pages
    )
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
    return Placement(executor, choice.note, plan.max_model_len, plan.kv_bytes_per_token)


def _pool_of(plan: MemoryPlan | VramPlan) -> int | None:
    """`Executor`'s `num_pages`: where all slots have room, each has pages of its own at first."""
    own = plan.num_slots * pages_for(plan.max_model_len)
    return None if plan.num_pages == own else plan.num_pages
