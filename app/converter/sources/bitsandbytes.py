"""bitsandbytes: nf4 or fp4 in blocks over the flattened matrix, and int8 with one scale a row.

int8 (bitsandbytes:backends/default/ops.py, int8_vectorwise_dequant): W = (code * SCB) * (1 / 127)
in float32, each step rounded once. code * (SCB / 127), the native row scale, rounds differently: it
keeps the grid with an error in the last bit. nf4 and fp4 lie on no uniform grid.
"""

from __future__ import annotations

from functools import partial
from math import prod

import numpy as np

from app.checkpoint.schemes import Linear, QuantScheme, ScaleDtype, Scheme
from app.converter.sources.base import SourceLinear
from app.converter.sources.bitsandbytes_blocks import (
    Blocks,
    NestedScales,
    QuantState,
    check_table,
    row_readers,
)
from app.converter.sources.claims import TensorClaims
from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.linear_format import Declaration, Folder, LinearFormat, LinearPlace
from app.converter.sources.quantized_linear import Floats, create_quantized_linear, load_scales
from app.core.errors import InvalidSourceError, UnsupportedError

_STATE = "weight.quant_state.bitsandbytes__"
_TYPES = ("nf4", "fp4")
_INT8_STEP = np.float32(1 / 127)
_ROW_FORMAT = 0


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
        rows = partial(_load_int8_rows, weight, scales)
        return create_quantized_linear(place, "BNB-INT8", (weight, scales), rows, native)

    def _open_4bit(
        self, place: LinearPlace, tensors: TensorClaims[StoredArray]
    ) -> SourceLinear | None:
        kind = next((k for k in _TYPES if f"{place.stem}.{_STATE}{k}" in tensors), _TYPES[0])
        name = f"{place.stem}.{_STATE}{kind}"
        stored = tensors.take(name, self._shape_of(name))
        if stored is None:
            return None
        state = QuantState(stored, kind, place.shape)
        blocks = self._take_blocks(place, state, tensors)
        if blocks is None:
            return None
        check_table(blocks.table, kind)
        rows, dense = row_readers(blocks)
        source_type = f"BNB-{kind.upper()}"
        return create_quantized_linear(place, source_type, blocks.stored, rows, iter_dense=dense)

    def _take_blocks(
        self, place: LinearPlace, state: QuantState, tensors: TensorClaims[StoredArray]
    ) -> Blocks | None:
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
        return Blocks(place.shape, state.block_size, codes, table, absmax, nested)

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


def _take_nested(
    prefix: str, state: QuantState, num_blocks: int, tensors: TensorClaims[StoredArray]
) -> NestedScales | None:
    if not state.is_nested:
        return None
    num_outer = -(-num_blocks // state.nested_block_size)
    table = tensors.take(f"{prefix}.nested_quant_map", (256,))
    absmax = tensors.take(f"{prefix}.nested_absmax", (num_outer,))
    if table is None or absmax is None:
        return None
    return NestedScales(state.nested_block_size, state.nested_offset, table, absmax)


def _check_row_format(stored: StoredArray | None) -> None:
    if stored is not None and int(stored.load().reshape(-1)[0]) != _ROW_FORMAT:
        raise UnsupportedError(
            "{stored}: only the row format of int8 weights is supported.", stored=stored.name
        )


def _check_dtype(stored: StoredArray, dtype: type[np.generic]) -> None:
    if stored.dtype != dtype:
        raise InvalidSourceError(
            "{stored} is {dtype} instead of {wanted}.",
            stored=stored.name,
            dtype=stored.dtype,
            wanted=np.dtype(dtype),
        )


def _load_int8(quant: QuantScheme, weight: StoredArray, scales: StoredArray) -> Linear:
    per_row = (load_scales(scales) * _INT8_STEP)[:, None]
    packed = weight.rows.read()
    return Linear((packed.shape[0], packed.shape[1]), quant, packed=packed, scales=per_row)


def _load_int8_rows(weight: StoredArray, scales: StoredArray, rows: slice) -> Floats:
    codes = weight.rows.read_rows(rows).view(np.int8)
    return codes * load_scales(scales)[rows, None] * _INT8_STEP
