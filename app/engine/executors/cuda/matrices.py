"""From a checkpoint's linear to what gemv.cu and rows.cu read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from app.checkpoint.reference_quant import select_rows
from app.checkpoint.schemes import Linear, QuantScheme, ScaleDtype
from app.checkpoint.schemes import Scheme as NativeScheme
from app.core.errors import UnsupportedError
from app.engine.executors.cuda.code_tiles import tiles_of_codes, tiles_of_halfs
from app.engine.executors.cuda.launcher import Allocator, Buffer
from kernels.cuda.gemv import GemvVariant, Scheme, ValueType, group_shift, variant_group
from kernels.cuda.pack import (
    STEP_COLUMNS,
    TILE_ROWS,
    groups_together,
    pack_groups,
    padded_columns,
)

Arrays = dict[str, npt.NDArray[Any]]
GATE_ROWS = 8  # gate and up alternate by so many rows
_SUPER_COLUMNS = 256
_DENSE_BITS = 16
_BLOCK_WEIGHTS = 1 << 22
_OF_COLUMNS = ("perm",)  # fields that are no rows
_SCHEMES = {
    NativeScheme.SYM: Scheme.SYM,
    NativeScheme.ZERO: Scheme.ZERO,
    NativeScheme.AFFINE: Scheme.AFFINE,
}
_VALUE_TYPES = {
    "float16": ValueType.FP16,
    "float32": ValueType.FP32,
    "uint8": ValueType.TWO_LEVEL_U8,
    "int8": ValueType.TWO_LEVEL_I8,
}


@dataclass(frozen=True, slots=True)
class DeviceMatrix:
    """A matrix on the device: the variant that reads it, and its fields of GemvArgs."""

    shape: tuple[int, int]
    variant: GemvVariant
    fields: dict[str, Any]

    @property
    def num_bytes(self) -> int:
        """Of all its buffers on the device."""
        buffers = (value for value in self.fields.values() if isinstance(value, Buffer))
        return sum(buffer.num_bytes for buffer in buffers if not buffer.is_on_host)


@dataclass(frozen=True, slots=True)
class PackedMatrix:
    """What kernels read of a linear: the fields of GemvArgs, arrays and sizes."""

    shape: tuple[int, int]
    variant: GemvVariant
    arrays: Arrays
    sizes: dict[str, Any]


def pack_matrix(linear: Linear, name: str) -> PackedMatrix:
    """UnsupportedError for a dense weight that half precision cannot hold."""
    variant = _variant(linear)
    arrays = _pack_dense(linear, name) if linear.quant is None else _pack_quantized(linear)
    if linear.perm is not None:
        arrays["perm"] = linear.perm
    if linear.bias is not None:
        arrays["bias"] = np.asarray(linear.bias, np.float32)
    return PackedMatrix(linear.shape, variant, arrays, _sizes(linear, variant, arrays))


def upload_matrix(
    allocator: Allocator, linear: Linear, name: str, on_host: bool = False
) -> DeviceMatrix:
    """Packs and uploads block by block; `on_host` keeps the tiles where kernels reach them too.

    Raises UnsupportedError as `pack_matrix` does.
    """
    buffers: dict[str, Buffer] = {}
    for start in range(0, linear.shape[0], _block_rows(linear)):
        rows = slice(start, start + _block_rows(linear))
        packed = pack_matrix(select_rows(linear, rows), name)
        if not buffers:
            buffers = _allocate(allocator, packed, linear.shape[0], on_host)
            first = packed
        for field, array in packed.arrays.items():
            if field not in _OF_COLUMNS or start == 0:
                behind = buffers[field].skip(_end(field, first, start))
                allocator.upload(np.ascontiguousarray(array), behind)
    sizes = {**first.sizes, "out_features": linear.shape[0]}
    return DeviceMatrix(linear.shape, first.variant, buffers | sizes)


def _block_rows(linear: Linear) -> int:
    """Rows that are packed at once: whole tiles, of so many weights that caches help."""
    return max(1, _BLOCK_WEIGHTS // linear.shape[1] // TILE_ROWS) * TILE_ROWS


def _allocate(
    allocator: Allocator, first: PackedMatrix, num_rows: int, on_host: bool
) -> dict[str, Buffer]:
    """Buffers of the whole matrix, from its first block."""
    allocate = allocator.allocate_host if on_host else allocator.allocate
    sizes = {field: _end(field, first, num_rows) for field in first.arrays}
    return {field: allocate(size) for field, size in sizes.items()}


def _end(field: str, first: PackedMatrix, num_rows: int) -> int:
    """Bytes that a field of so many rows takes, padded to tiles where it stands in tiles."""
    array = first.arrays[field]
    if field in _OF_COLUMNS:
        return array.nbytes if num_rows else 0
    if field == "bias":
        return array.itemsize * num_rows
    tile_bytes: int = array.nbytes // array.shape[0]
    return tile_bytes * -(-num_rows // TILE_ROWS)


def stack(linears: Sequence[Linear]) -> Linear | None:
    """One linear of the rows of all, where they are stored alike; else None."""
    first = linears[0]
    if any(not _is_alike(first, other) for other in linears[1:]):
        return None
    joined: dict[str, Any] = {
        name: first.perm
        if name == "perm"
        else np.concatenate([li.arrays()[name] for li in linears])
        for name in first.arrays()
    }
    num_rows = sum(linear.shape[0] for linear in linears)
    return replace(first, shape=(num_rows, first.shape[1]), **joined)


def can_interleave(gate: Linear, up: Linear) -> bool:
    """Whether `interleave` gives one linear of both."""
    return gate.shape == up.shape and gate.shape[0] % GATE_ROWS == 0 and _is_alike(gate, up)


def interleave(gate: Linear, up: Linear) -> Linear | None:
    """Eight rows of gate, eight of up, and so on; None where they are stored in two ways."""
    if not can_interleave(gate, up):
        return None
    num_rows, both = gate.shape[0], stack([gate, up])
    assert both is not None
    order = np.arange(2 * num_rows).reshape(2, -1, GATE_ROWS).swapaxes(0, 1).reshape(-1)
    return select_rows(both, order)


def _is_alike(first: Linear, other: Linear) -> bool:
    mine, others = first.arrays(), other.arrays()
    if first.quant != other.quant or first.shape[1] != other.shape[1]:
        return False
    if mine.keys() != others.keys():
        return False
    if any(mine[name].dtype != others[name].dtype for name in mine):
        return False
    return first.perm is None or np.array_equal(first.perm, others["perm"])


def _variant(linear: Linear) -> GemvVariant:
    quant = linear.quant
    if quant is None:
        return GemvVariant(_DENSE_BITS)
    assert linear.scales is not None
    bias_type = ValueType.FP16
    if linear.biases is not None:
        bias_type = _VALUE_TYPES[linear.biases.dtype.name]
    return GemvVariant(
        bits=quant.bits,
        scheme=_SCHEMES[quant.scheme],
        group=variant_group(quant.group_size),
        scale_type=_VALUE_TYPES[linear.scales.dtype.name],
        bias_type=bias_type,
    )


def _pack_dense(linear: Linear, name: str) -> Arrays:
    assert linear.weight is not None
    with np.errstate(over="ignore"):
        halfs = linear.weight.astype(np.float16)
    if not np.isfinite(halfs).all():
        raise UnsupportedError("{name} holds weights that half precision cannot hold.", name=name)
    return {"codes": tiles_of_halfs(halfs)}


def _pack_quantized(linear: Linear) -> Arrays:
    quant = linear.quant
    assert quant is not None
    assert linear.packed is not None
    arrays: Arrays = {"codes": tiles_of_codes(linear.packed, quant, linear.shape[1])}
    stored = linear.arrays()
    for name in ("scales", "biases", "zeros"):
        if name in stored:
            arrays[name] = _pack_groups(stored[name], quant, linear.shape[1])
    for name in ("super_scales", "super_biases"):
        if name in stored:
            arrays[name] = _pack_supers(stored[name], quant.bits, linear.shape[1])
    return arrays


def _pack_groups(
    values: npt.NDArray[Any], quant: QuantScheme, num_columns: int
) -> npt.NDArray[Any]:
    """Over the padded columns too, as the kernels index them."""
    if quant.group_size < 0:
        return pack_groups(values)
    wanted = -(-padded_columns(num_columns, quant.bits) // quant.group_size)
    padded = np.pad(values, ((0, 0), (0, wanted - values.shape[1])))
    return pack_groups(padded, groups_together(quant.group_size, quant.bits))


def _pack_supers(values: npt.NDArray[Any], bits: int, num_columns: int) -> npt.NDArray[Any]:
    wanted = -(-padded_columns(num_columns, bits) // _SUPER_COLUMNS)
    return pack_groups(np.pad(values, ((0, 0), (0, wanted - values.shape[1]))))


def _sizes(linear: Linear, variant: GemvVariant, arrays: Arrays) -> dict[str, Any]:
    columns = padded_columns(linear.shape[1], variant.bits)
    is_two_level = linear.quant is not None and linear.quant.scale_dtype is ScaleDtype.TWO_LEVEL
    return {
        "out_features": linear.shape[0],
        "in_features": linear.shape[1],
        "x_stride": linear.shape[1],
        "num_steps": columns // STEP_COLUMNS,
        "num_groups": arrays["scales"].shape[1] if "scales" in arrays else 1,
        "num_supers": -(-columns // _SUPER_COLUMNS) if is_two_level else 0,
        "group_shift": group_shift(linear.quant.group_size) if linear.quant else 0,
    }
