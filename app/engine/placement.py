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
from app.engine.memory_plan import ExecutorCosts, available_memory_bytes, plan_memory
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
    `app.core.device.ACTIVATIONS`, `kv_dtype` one of its `KV_DTYPES`."""

    max_model_len: int | None = None
    num_slots: int = 1
    activations: str = "int8"
    kv_dtype: str = "fp16"


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
        kv = KvOptions(kv_dtype, options.num_slots, options.max_model_len)
        plan = plan_vram(spec, weights_bytes, state, kv)
        launcher.reserve(plan.needed_bytes)
    except BaseException:
        launcher.close()
        raise
    executor = CudaExecutor(
        checkpoint,
        spec,
        plan.max_model_len,
        options.num_slots,
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
    plan = plan_memory(spec, costs, available, options.max_model_len, options.num_slots)
    executor = factory.create_executor(
        choice.device,
        checkpoint,
        spec,
        plan.max_model_len,
        options.num_slots,
        options.activations,
        options.kv_dtype,
    )
    return Placement(executor, choice.note, plan.max_model_len, plan.kv_bytes_per_token)
