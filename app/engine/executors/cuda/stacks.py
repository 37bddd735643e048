"""Many matrices of one shape on the device, of which a launch reads some: experts, and heads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from app.checkpoint.schemes import Linear
from app.engine.executors.cuda.launcher import Allocator, Buffer
from app.engine.executors.cuda.matrices import DeviceMatrix, PackedMatrix, pack_matrix

Loader = Callable[[], Linear]


@dataclass(frozen=True, slots=True)
class DeviceStack:
    """`matrix` describes one of them; `places` says where each number stands here, -1 elsewhere.

    Without `places` matrix n is the n-th of this stack.
    """

    matrix: DeviceMatrix
    places: Buffer | None


def storage_of(linear: Linear) -> Any:
    """What must be equal for one launch to read two linears; cheap, no array is read."""
    arrays = ((name, array.dtype.str, array.shape) for name, array in linear.arrays().items())
    return linear.quant, linear.shape, tuple(arrays)


def upload_stacks(
    allocator: Allocator, loaders: Sequence[Loader], storages: Sequence[Any], name: str
) -> list[DeviceStack]:
    """One stack for each of the storages that the linears have; one linear in RAM at a time."""
    numbers: dict[Any, list[int]] = {}
    for number, storage in enumerate(storages):
        numbers.setdefault(storage, []).append(number)
    return [_upload(allocator, loaders, chosen, name) for chosen in numbers.values()]


def _upload(
    allocator: Allocator, loaders: Sequence[Loader], numbers: Sequence[int], name: str
) -> DeviceStack:
    first = pack_matrix(loaders[numbers[0]](), name)
    buffers = {
        field: allocator.allocate(len(numbers) * array.nbytes)
        for field, array in first.arrays.items()
    }
    _upload_one(allocator, buffers, first, 0)
    for place, number in enumerate(numbers[1:], start=1):
        _upload_one(allocator, buffers, pack_matrix(loaders[number](), name), place)
    variant = replace(first.variant, is_stack=True)
    matrix = DeviceMatrix(first.shape, variant, buffers | first.sizes)
    if len(numbers) == len(loaders):
        return DeviceStack(matrix, None)
    places = np.full(len(loaders), -1, np.int32)
    places[list(numbers)] = np.arange(len(numbers))
    return DeviceStack(matrix, allocator.upload_new(places))


def _upload_one(
    allocator: Allocator, buffers: dict[str, Buffer], packed: PackedMatrix, place: int
) -> None:
    for field, array in packed.arrays.items():
        contiguous = np.ascontiguousarray(array)
        allocator.upload(contiguous, buffers[field].skip(place * contiguous.nbytes))
