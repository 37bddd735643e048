"""Which executor runs a checkpoint; imports only the one that is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.checkpoint.reader import Checkpoint
from app.core.device import choose_device
from app.core.errors import MissingExtraError
from app.core.frozen import missing_extra
from app.engine.executors.base import Executor
from app.spec.model_spec import ModelSpec

if TYPE_CHECKING:
    from app.engine.executors.cuda.launcher import Launcher


def executor_class(device: str) -> type[Executor]:
    """The class behind `cuda`, `cpu` or `reference`; `auto` is resolved first.

    Raises UsageError for an unknown device, MissingExtraError when the reference executor lacks
    torch, and for `cuda` what `app.core.device.find_usable_card` raises.
    """
    match choose_device(device).device:
        case "reference":
            return _reference_class()
        case "cuda":
            from app.engine.executors.cuda.executor import CudaExecutor

            return CudaExecutor
    from app.engine.executors.cpu import CpuExecutor

    return CpuExecutor


def create_executor(
    device: str,
    checkpoint: Checkpoint,
    spec: ModelSpec,
    max_model_len: int,
    num_slots: int = 1,
    activations: str = "int8",
    kv_dtype: str = "fp16",
    num_pages: int | None = None,
) -> Executor:
    """The executor of `cpu` or `reference` with the checkpoint's weights.

    `activations` (`int8` or `fp32`) are those of the cpu executor, as is `kv_dtype`; the reference
    has float32. Raises as `executor_class` does. A card's is made by `app.engine.placement`.
    """
    if device == "reference":
        return _reference_class()(checkpoint, spec, max_model_len, num_slots, num_pages)
    from app.engine.executors.cpu import CpuExecutor

    return CpuExecutor(
        checkpoint,
        spec,
        max_model_len,
        num_slots,
        num_pages,
        kv_dtype=kv_dtype,
        activations=activations,
    )


def create_launcher() -> Launcher:
    """The card's; raises as `CupyLauncher` does."""
    from app.engine.executors.cuda.cupy_launcher import CupyLauncher

    return CupyLauncher()


def _reference_class() -> type[Executor]:
    try:
        from app.engine.executors.reference import ReferenceExecutor
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise MissingExtraError(
            "The reference executor needs torch, which is not installed: {hint}.",
            hint=missing_extra("reference", "torch"),
        ) from error
    return ReferenceExecutor
