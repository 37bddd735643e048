"""A layer's mixture of experts on the device: router, and stacks of the experts' matrices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from app.checkpoint.reader import Checkpoint
from app.checkpoint.schemes import Linear
from app.engine.executors.cuda.launcher import Allocator, Buffer
from app.engine.executors.cuda.matrices import can_interleave, interleave
from app.engine.executors.cuda.stacks import DeviceStack, storage_of, upload_stacks
from app.spec.model_spec import MlpType, ModelSpec
from app.spec.moe_spec import MoeSpec
from kernels.cuda.experts import RouterWeight

_ROUTER_WEIGHTS = {
    np.dtype(np.float32): RouterWeight.FLOAT32,
    np.dtype(np.float16): RouterWeight.FLOAT16,
    np.dtype(ml_dtypes.bfloat16): RouterWeight.BFLOAT16,
}


@dataclass(frozen=True, slots=True)
class DeviceRouter:
    """`weight` [num_experts, or one more with the shared expert's gate; hidden_size]."""

    weight: Buffer
    weight_type: RouterWeight
    bias: Buffer | None
    correction: Buffer | None


@dataclass(frozen=True, slots=True)
class DeviceExperts:
    """`inputs` are as those of a dense MLP: [gate and up, interleaved], [up, gate], or [up]."""

    router: DeviceRouter
    inputs: list[list[DeviceStack]]
    down_proj: list[DeviceStack]

    def iter_stacks(self) -> Iterator[DeviceStack]:
        """All of them."""
        for stacks in (*self.inputs, self.down_proj):
            yield from stacks

    @property
    def num_bytes(self) -> int:
        """Bytes on the device."""
        stacks = sum(stack.matrix.num_bytes for stack in self.iter_stacks())
        return self.router.weight.num_bytes + stacks


class ExpertsLoader:
    """Uploads the experts of one layer, `prefix` being `layers.<n>.mlp`."""

    def __init__(
        self, allocator: Allocator, checkpoint: Checkpoint, spec: ModelSpec, prefix: str
    ) -> None:
        assert spec.moe is not None
        self._allocator, self._checkpoint, self._spec = allocator, checkpoint, spec
        self._moe: MoeSpec = spec.moe
        self._prefix = prefix

    def load(self) -> DeviceExperts:
        """Raises UnsupportedError for a weight that the kernels cannot hold."""
        return DeviceExperts(self._router(), self._inputs(), self._stacks("down_proj"))

    def _router(self) -> DeviceRouter:
        linear = self._checkpoint.linear(f"{self._prefix}.router")
        assert linear.weight is not None
        rows = [linear.weight]
        if self._moe.shared_expert_gate:
            gate = self._checkpoint.linear(f"{self._prefix}.shared_expert_gate").weight
            assert gate is not None
            rows.append(gate)
        weight = _joined(rows)
        correction = None
        if self._moe.score_correction_bias:
            correction = self._floats(self._checkpoint.vector(f"{self._prefix}.router_correction"))
        return DeviceRouter(
            weight=self._allocator.upload_new(weight),
            weight_type=_ROUTER_WEIGHTS[weight.dtype],
            bias=None if linear.bias is None else self._floats(linear.bias),
            correction=correction,
        )

    def _inputs(self) -> list[list[DeviceStack]]:
        if self._spec.mlp_type is MlpType.PLAIN:
            return [self._stacks("up_proj")]
        numbers = range(self._moe.num_experts)
        if not all(can_interleave(*self._pair(number)) for number in numbers):
            return [self._stacks("up_proj"), self._stacks("gate_proj")]
        loaders = [partial(self._interleaved, number) for number in numbers]
        storages = [storage_of(self._linear(number, "up_proj")) for number in numbers]
        name = f"{self._prefix}.experts.gate_up_proj"
        return [upload_stacks(self._allocator, loaders, storages, name)]

    def _stacks(self, name: str) -> list[DeviceStack]:
        numbers = range(self._moe.num_experts)
        loaders = [partial(self._linear, number, name) for number in numbers]
        storages = [storage_of(load()) for load in loaders]
        return upload_stacks(self._allocator, loaders, storages, f"{self._prefix}.experts.{name}")

    def _pair(self, number: int) -> tuple[Linear, Linear]:
        return self._linear(number, "gate_proj"), self._linear(number, "up_proj")

    def _interleaved(self, number: int) -> Linear:
        joined = interleave(*self._pair(number))
        assert joined is not None
        return joined

    def _linear(self, number: int, name: str) -> Linear:
        return self._checkpoint.linear(f"{self._prefix}.experts.{number}.{name}")

    def _floats(self, values: npt.NDArray[Any]) -> Buffer:
        return self._allocator.upload_new(np.asarray(values, np.float32))


def _joined(rows: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """One matrix in the type of all, float32 where they differ."""
    if len({array.dtype for array in rows}) > 1:
        rows = [array.astype(np.float32) for array in rows]
    return np.concatenate(rows)
