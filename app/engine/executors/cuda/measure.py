"""What the executor will allocate, counted by letting it allocate nothing: no second formula."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from app.checkpoint.layout import linear_layout
from app.checkpoint.schemes import SUPER_GROUP, QuantScheme
from app.engine.executors.cuda.buffers import DeviceBuffers, KvLayout
from app.engine.executors.cuda.launcher import Allocator, Buffer, aligned_bytes
from app.spec.model_spec import ModelSpec
from kernels.cuda.pack import codes_bytes, group_values_bytes, groups_together, padded_columns

_DENSE_BITS = 16
_FLOAT_BYTES = 4
_SUPERS = ("super_scales", "super_biases")


@dataclass(frozen=True, slots=True)
class BufferSizes:
    """Bytes of the cache, and of everything else that is no weight."""

    kv_bytes: int
    workspace_bytes: int


class MeasuringAllocator(Allocator):
    """Counts what it is asked for; its buffers have no memory."""

    def __init__(self, num_multiprocessors: int = 1) -> None:
        self.num_multiprocessors = num_multiprocessors
        self.num_bytes = 0

    def allocate(self, num_bytes: int) -> Buffer:
        """Counts."""
        self.num_bytes += aligned_bytes(num_bytes)
        return Buffer(0, num_bytes)

    def allocate_host(self, num_bytes: int) -> Buffer:
        """None of the device's memory."""
        return Buffer(0, num_bytes, is_on_host=True)

    def upload(self, array: npt.NDArray[Any], buffer: Buffer) -> None:
        """Drops the array."""


def measure_buffers(spec: ModelSpec, kv: KvLayout, num_multiprocessors: int) -> BufferSizes:
    """What `DeviceBuffers` takes for this cache on a device of so many multiprocessors."""
    allocator = MeasuringAllocator(num_multiprocessors)
    kv_bytes = DeviceBuffers(allocator, spec, kv).kv_bytes
    return BufferSizes(kv_bytes, allocator.num_bytes - kv_bytes)


def linear_bytes(
    quant: QuantScheme | None,
    shape: tuple[int, int],
    optional: Iterable[str] = (),
) -> int:
    """What a linear [out, in] takes as tiles; `optional` names its `perm` and `bias`.

    Linears that are joined (q, k and v, gate and up) take at most the sum.
    """
    return sum(
        aligned_bytes(_array_bytes(name, quant, shape, layout.dtypes[0].itemsize))
        for name, layout in linear_layout(quant, shape).items()
        if layout.required or name in optional
    )


def vector_bytes(num_elements: int) -> int:
    """What a norm's weight or another vector takes: float32."""
    return aligned_bytes(_FLOAT_BYTES * num_elements)


def _array_bytes(
    name: str, quant: QuantScheme | None, shape: tuple[int, int], itemsize: int
) -> int:
    if name == "bias":
        return _FLOAT_BYTES * shape[0]
    if name == "perm":
        return _FLOAT_BYTES * shape[1]
    if quant is None:
        return codes_bytes(shape, _DENSE_BITS)
    columns = padded_columns(shape[1], quant.bits)
    if name == "packed":
        return codes_bytes(shape, quant.bits)
    if name in _SUPERS:
        return group_values_bytes(shape[0], -(-columns // SUPER_GROUP), 1, itemsize)
    num_groups = 1 if quant.group_size < 0 else -(-columns // quant.group_size)
    together = groups_together(quant.group_size, quant.bits)
    return group_values_bytes(shape[0], num_groups, together, itemsize)
