"""What running a checkpoint will take, as the plan and the comparison of grids tell it."""

from __future__ import annotations

from dataclasses import dataclass

from app.engine.executors.factory import executor_class
from app.engine.memory_plan import kv_bytes_per_token, native_max_model_len, workspace_bytes
from app.spec.model_spec import ModelSpec

# A context in which people chat; shorter where the model has no such context.
_CONTEXT = 4096


@dataclass(frozen=True, slots=True)
class ExpectedMemory:
    """Bytes of weights, workspace, states and the KV cache of `context` tokens."""

    num_bytes: int
    context: int


def expect_memory(spec: ModelSpec, weights_bytes: int) -> ExpectedMemory:
    """For the executor that `auto` chooses on this machine."""
    context = min(_CONTEXT, native_max_model_len(spec))
    per_token = kv_bytes_per_token(spec, executor_class("auto").kv_dtypes[0])
    beside = workspace_bytes(spec) + spec.state_bytes + context * per_token
    return ExpectedMemory(weights_bytes + beside, context)
