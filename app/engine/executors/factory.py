"""Which executor runs a checkpoint; imports only the one that is asked for."""

from __future__ import annotations

from app.checkpoint.reader import Checkpoint
from app.core.device import choose_device
from app.core.errors import MissingExtraError
from app.engine.executors.base import Executor
from app.spec.model_spec import ModelSpec


def executor_class(device: str) -> type[Executor]:
    """The class behind `cpu` or `reference`; `auto` is resolved first.

    Raises UsageError for an unknown device, UnsupportedError for one that is not built yet, and
    MissingExtraError when the reference executor lacks torch.
    """
    if choose_device(device).device == "reference":
        return _reference_class()
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
) -> Executor:
    """The executor of `device` with the checkpoint's weights; raises as `executor_class` does.

    `activations` (`int8` or `fp32`) are those of the cpu executor, as is `kv_dtype`; the reference
    has float32.
    """
    if choose_device(device).device == "reference":
        return _reference_class()(checkpoint, spec, max_model_len, num_slots)
    from app.engine.executors.cpu import CpuExecutor

    return CpuExecutor(
        checkpoint, spec, max_model_len, num_slots, kv_dtype=kv_dtype, activations=activations
    )


def _reference_class() -> type[Executor]:
    try:
        from app.engine.executors.reference import ReferenceExecutor
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise MissingExtraError(
            "The reference executor needs torch, which is not installed: "
            "`python3 dev.py install reference` installs it."
        ) from error
    return ReferenceExecutor
