"""bitsandbytes: nf4 or fp4 in blocks over the flattened matrix, and int8 with one scale a row.

bitsandbytes:functional.py (QuantState) and backends/default/ops.py. 4 bits: the high nibble is the
even element; W = quant_map[code] * absmax[element // blocksize], where doubly quantized
absmax = nested_quant_map[code] * nested_absmax[block // nested_blocksize] + nested_offset. int8:
W = (code * SCB) * (1 / 127). All in float32, each step rounded once; the library rounds the result
to the dtype in the quant state. nf4 and fp4 lie on no uniform grid. int8 does, but
code * (SCB / 127) rounds differently: it keeps the grid with an error in the last bit.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from app.checkpoint.schemes import Linear, QuantScheme, ScaleDtype, Scheme
from app.converter.sources.base import SourceLinear
from app.converter.sources.claims import TensorClaims
from app.converter.sources.file_rows import Bytes, rows_per_block
from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.linear_format import Declaration, Folder, LinearFormat, LinearPlace
from app.converter.sources.quantized_linear import Floats, create_quantized_linear, load_scales
from app.core.errors import InvalidSourceError, UnsupportedError

_STATE = "weight.quant_state.bitsandbytes__"
_TYPES = ("nf4", "fp4")
_BLOCK_SIZES = (32, 64, 128, 256, 512, 1024, 2048, 4096)
_INT8_STEP = np.float32(1 / 127)
_ROW_FORMAT = 0
# The QLoRA paper's NormalFloat values, and bitsandbytes' fp4: sign, two exponent bits, one of
# mantissa, over 12. A file brings its own table, which must be the known one.
_TABLES: dict[str, tuple[float, ...]] = {
    "nf4": (
        -1.0, -0.6961928, -0.5250731, -0.3949175, -0.2844414, -0.1847734, -0.0910500, 0.0,
        0.0795803, 0.1609302, 0.2461123, 0.3379152, 0.4407098, 0.5626170, 0.7229568, 1.0,
    ),
    "fp4": (
        0.0, 0.0052083, 0.6666667, 1.0, 0.3333333, 0.5, 0.1666667, 0.25,
        0.0, -0.0052083, -0.6666667, -1.0, -0.3333333, -0.5, -0.1666667, -0.25,
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Blocks:
    """A 4-bit weight: where its codes stand, and the loaded-on-demand arrays that decode them."""

    shape: tuple[int, int]
    block_size: int
    codes: StoredArray
    table: StoredArray
    absmax: StoredArray
    nested: _Nested | None

    @property
    def stored(self) -> tuple[StoredArray, ...]:
        """All arrays, the weight first."""
        nested = (self.nested.absmax, self.nested.table) if self.nested else ()
        return (self.codes, self.table, self.absmax, *nested)


@dataclass(frozen=True, slots=True)
class _Nested:
    """How the absmax are quantized."""

    block_size: int
    offset: np.float32
    table: StoredArray
    absmax: StoredArray


class BitsAndBytesFormat(LinearFormat):
    """`load_in_4bit` or `load_in_8bit`; what neither has a quant state nor SCB is dense."""

    name = "bitsandbytes"

    def __init__(self, declaration: Declaration, folder: Folder) -> None:
        """The flags are not evidence: each linear says itself how it is stored."""
        del declaration
        self._folder = folder

    def is_stored(self, stem: str, tensors: TensorClaims[StoredArray]) -> bool:
        signs = ("SCB", "weight.absmax", *(f"{_STATE}{kind}" for kind in _TYPES))
        return any(f"{stem}.{sign}" in tensors for sign in signs)

    def open_linear(
        self, place: LinearPlace, tensors: TensorClaims[StoredArray]
    ) -> SourceLinear | None:
        if f"{place.stem}.SCB" in tensors:
            return self._open_int8(place, tensors)
        return self._open_4bit(place, tensors)

    def _open_int8(
        self, place: LinearPlace, tensors: TensorClaims[StoredArray]
    ) -> SourceLinear | None:
        weight = tensors.take(f"{place.stem}.weight", place.shape)
        scales = tensors.take(f"{place.stem}.SCB", place.shape[:1])
        layout = f"{place.stem}.weight_format"
        if layout in tensors:
            _check_row_format(tensors.take(layout, self._shape_of(layout)))
        if weight is None or scales is None:
            return None
        _check_dtype(weight, np.int8)
        quant = QuantScheme(8, -1, Scheme.SYM, ScaleDtype.FP32)
        native = (quant, partial(_load_int8, quant, weight, scales))
        blocks = partial(_iter_int8, weight, scales)
        return create_quantized_linear(place, "BNB-INT8", (weight, scales), blocks, native)

    def _open_4bit(
        self, place: LinearPlace, tensors: TensorClaims[StoredArray]
    ) -> SourceLinear | None:
        kind = next((k for k in _TYPES if f"{place.stem}.{_STATE}{k}" in tensors), _TYPES[0])
        name = f"{place.stem}.{_STATE}{kind}"
        stored = tensors.take(name, self._shape_of(name))
        if stored is None:
            return None
        state = _QuantState(stored, kind, place.shape)
        blocks = self._take_blocks(place, state, tensors)
        if blocks is None:
            return None
        _check_table(blocks.table, kind)
        return create_quantized_linear(
            place, f"BNB-{kind.upper()}", blocks.stored, partial(_iter_4bit, blocks)
        )

    def _take_blocks(
        self, place: LinearPlace, state: _QuantState, tensors: TensorClaims[StoredArray]
    ) -> _Blocks | None:
        prefix = f"{place.stem}.weight"
        num_blocks = -(-prod(place.shape) // state.block_size)
        codes = self._take_codes(prefix, place.shape, tensors)
        table = tensors.take(f"{prefix}.quant_map", (16,))
        absmax = tensors.take(f"{prefix}.absmax", (num_blocks,))
        nested = _take_nested(prefix, state, num_blocks, tensors)
        if codes is None or table is None or absmax is None or (state.is_nested and not nested):
            return None
        if state.is_nested:
            _check_dtype(absmax, np.uint8)
        return _Blocks(place.shape, state.block_size, codes, table, absmax, nested)

    def _take_codes(
        self, name: str, shape: tuple[int, int], tensors: TensorClaims[StoredArray]
    ) -> StoredArray | None:
        """Two codes a byte, whatever dtype the bytes are stored in, as one column or one row."""
        num_bytes, found = -(-prod(shape) // 2), self._folder.tensors.get(name)
        fits = (
            found is not None
            and found.num_bytes == num_bytes
            and max(found.shape) == prod(found.shape)
        )
        return tensors.take(name, found.shape if found is not None and fits else (num_bytes, 1))

    def _shape_of(self, name: str) -> tuple[int, ...]:
        found = self._folder.tensors.get(name)
        return found.shape if found is not None else ()


class _QuantState:
    """The JSON in `quant_state`: block sizes, offset, and the only place of the true shape."""

    def __init__(self, stored: StoredArray, kind: str, shape: tuple[int, int]) -> None:
        """InvalidSourceError for a state that is no JSON, lacks a field or means another linear."""
        fields = _parse_state(stored)
        found = fields.get("quant_type"), fields.get("shape")
        if found != (kind, list(shape)):
            raise InvalidSourceError(
                f"{stored.name} says {found[0]} with the shape {found[1]}, "
                f"but the linear is {kind} with the shape {list(shape)}."
            )
        self.block_size = _block_size(fields, "blocksize", stored)
        self.is_nested = fields.get("nested_blocksize") is not None
        nested = _block_size(fields, "nested_blocksize", stored) if self.is_nested else 1
        self.nested_block_size = nested
        offset = fields.get("nested_offset") if self.is_nested else 0.0
        if not isinstance(offset, int | float) or not np.isfinite(offset):
            raise InvalidSourceError(f"{stored.name} has the nested_offset {offset}.")
        self.nested_offset = np.float32(offset)


def _parse_state(stored: StoredArray) -> Mapping[str, Any]:
    try:
        fields = json.loads(stored.load().tobytes())
    except ValueError as error:
        raise InvalidSourceError(f"{stored.name} is not JSON.", detail=repr(error)) from error
    if not isinstance(fields, dict):
        raise InvalidSourceError(f"{stored.name} is not a JSON object.")
    return fields


def _block_size(fields: Mapping[str, Any], key: str, stored: StoredArray) -> int:
    value = fields.get(key)
    if value not in _BLOCK_SIZES:
        raise InvalidSourceError(f"{stored.name} has the {key} {value}.")
    return int(value)


def _take_nested(
    prefix: str, state: _QuantState, num_blocks: int, tensors: TensorClaims[StoredArray]
) -> _Nested | None:
    if not state.is_nested:
        return None
    num_outer = -(-num_blocks // state.nested_block_size)
    table = tensors.take(f"{prefix}.nested_quant_map", (256,))
    absmax = tensors.take(f"{prefix}.nested_absmax", (num_outer,))
    if table is None or absmax is None:
        return None
    return _Nested(state.nested_block_size, state.nested_offset, table, absmax)


def _check_table(stored: StoredArray, kind: str) -> None:
    if not np.allclose(load_scales(stored), _TABLES[kind], rtol=0, atol=1e-6):
        raise UnsupportedError(f"{stored.name} is not the {kind} table.")


def _check_row_format(stored: StoredArray | None) -> None:
    if stored is not None and int(stored.load().reshape(-1)[0]) != _ROW_FORMAT:
        raise UnsupportedError(f"{stored.name}: only the row format of int8 weights is supported.")


def _check_dtype(stored: StoredArray, dtype: type[np.generic]) -> None:
    if stored.dtype != dtype:
        raise InvalidSourceError(f"{stored.name} is {stored.dtype} instead of {np.dtype(dtype)}.")


def _load_absmax(blocks: _Blocks) -> Floats:
    """float32, one a block."""
    nested = blocks.nested
    if nested is None:
        return load_scales(blocks.absmax)
    outer = np.repeat(load_scales(nested.absmax), nested.block_size)[: blocks.absmax.shape[0]]
    codes = np.take(load_scales(nested.table), blocks.absmax.load())
    return np.asarray(codes * outer + nested.offset, np.float32)


def _iter_4bit(blocks: _Blocks) -> Iterator[tuple[slice, Floats]]:
    (num_rows, columns), size = blocks.shape, blocks.block_size
    absmax, pairs = _load_absmax(blocks), _pair_table(load_scales(blocks.table))
    # An even number of rows is whole bytes even where a row is not.
    step = max(2, rows_per_block(columns) // 2 * 2)
    packed = blocks.codes.split_rows(1).read()[0]
    for start in range(0, num_rows, step):
        rows = slice(start, min(start + step, num_rows))
        first, last = rows.start * columns, rows.stop * columns
        values = _decode(packed[first // 2 : -(-last // 2)], pairs)[: last - first]
        scales = np.repeat(absmax[first // size : -(-last // size)], size)
        offset = first % size
        values *= scales[offset : offset + last - first]
        yield rows, values.reshape(-1, columns)


def _pair_table(table: Floats) -> npt.NDArray[np.uint64]:
    """Both values of every byte, the high nibble first; minus zero becomes zero."""
    byte = np.arange(256)
    pairs = np.stack([table[byte >> 4], table[byte & 15]], axis=1) + np.float32(0)
    return pairs.view(np.uint64)[:, 0]


def _decode(packed: Bytes, pairs: npt.NDArray[np.uint64]) -> Floats:
    return np.take(pairs, packed).view(np.float32)


def _load_int8(quant: QuantScheme, weight: StoredArray, scales: StoredArray) -> Linear:
    per_row = (load_scales(scales) * _INT8_STEP)[:, None]
    packed = weight.rows.read()
    return Linear((packed.shape[0], packed.shape[1]), quant, packed=packed, scales=per_row)


def _iter_int8(weight: StoredArray, scales: StoredArray) -> Iterator[tuple[slice, Floats]]:
    per_row = load_scales(scales)[:, None]
    for rows, codes in weight.rows.iter_blocks(rows_per_block(weight.shape[1])):
        yield rows, codes.view(np.int8) * per_row[rows] * _INT8_STEP
