"""bitsandbytes' 4-bit blocks: the quant state, and how codes become weights.

bitsandbytes:functional.py (QuantState) and backends/default/ops.py. The high nibble is the even
element of the flattened matrix; W = quant_map[code] * absmax[element // blocksize], where doubly
quantized absmax = nested_quant_map[code] * nested_absmax[block // nested_blocksize] +
nested_offset. All in float32, each step rounded once; the library rounds the result to the dtype
in the quant state. (Its native CPU kernel, 0.50.2, begins a new block at every row, where its
quantizer and its other decoders do not: with straddling blocks it decodes something else.)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.quantized_linear import Blocks as DenseBlocks
from app.converter.sources.quantized_linear import Floats, Rows, load_scales, share_steps
from app.core.errors import InvalidSourceError, UnsupportedError

_BLOCK_SIZES = (32, 64, 128, 256, 512, 1024, 2048, 4096)
# The QLoRA paper's NormalFloat values, and bitsandbytes' fp4: sign, two exponent bits, one of
# mantissa, over 12. A file brings its own table, which must be the known one.
TABLES: dict[str, tuple[float, ...]] = {
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
class Blocks:
    """A 4-bit weight: where its codes stand, and the loaded-on-demand arrays that decode them."""

    shape: tuple[int, int]
    block_size: int
    codes: StoredArray
    table: StoredArray
    absmax: StoredArray
    nested: NestedScales | None

    @property
    def stored(self) -> tuple[StoredArray, ...]:
        """All arrays, the weight first."""
        nested = (self.nested.absmax, self.nested.table) if self.nested else ()
        return (self.codes, self.table, self.absmax, *nested)


@dataclass(frozen=True, slots=True)
class NestedScales:
    """How the absmax are quantized."""

    block_size: int
    offset: np.float32
    table: StoredArray
    absmax: StoredArray


class QuantState:
    """The JSON in `quant_state`: block sizes, offset, and the only place of the true shape."""

    def __init__(self, stored: StoredArray, kind: str, shape: tuple[int, int]) -> None:
        """InvalidSourceError for a state that is no JSON, lacks a field or means another linear."""
        fields = _parse_state(stored)
        found = fields.get("quant_type"), fields.get("shape")
        if found != (kind, list(shape)):
            raise InvalidSourceError(
                "{stored} says {found_kind} with the shape {found_shape}, but the linear is "
                "{kind} with the shape {shape}.",
                stored=stored.name,
                found_kind=found[0],
                found_shape=found[1],
                kind=kind,
                shape=list(shape),
            )
        self.block_size = _block_size(fields, "blocksize", stored)
        self.is_nested = fields.get("nested_blocksize") is not None
        nested = _block_size(fields, "nested_blocksize", stored) if self.is_nested else 1
        self.nested_block_size = nested
        offset = fields.get("nested_offset") if self.is_nested else 0.0
        if not isinstance(offset, int | float) or not np.isfinite(offset):
            raise InvalidSourceError(
                "{stored} has the nested_offset {offset}.", stored=stored.name, offset=offset
            )
        self.nested_offset = np.float32(offset)


def _parse_state(stored: StoredArray) -> Mapping[str, Any]:
    try:
        fields = json.loads(stored.load().tobytes())
    except (ValueError, RecursionError) as error:
        raise InvalidSourceError(
            "{stored} is not JSON.", stored=stored.name, detail=repr(error)
        ) from error
    if not isinstance(fields, dict):
        raise InvalidSourceError("{stored} is not a JSON object.", stored=stored.name)
    return fields


def _block_size(fields: Mapping[str, Any], key: str, stored: StoredArray) -> int:
    value = fields.get(key)
    if value not in _BLOCK_SIZES:
        raise InvalidSourceError(
            "{stored} has the {key} {value}.", stored=stored.name, key=key, value=value
        )
    return int(value)


def check_table(stored: StoredArray, kind: str) -> None:
    if not np.allclose(load_scales(stored), TABLES[kind], rtol=0, atol=1e-6):
        raise UnsupportedError("{stored} is not the {kind} table.", stored=stored.name, kind=kind)


def _load_absmax(blocks: Blocks) -> Floats:
    """float32, one a block."""
    nested = blocks.nested
    if nested is None:
        return load_scales(blocks.absmax)
    outer = np.repeat(load_scales(nested.absmax), nested.block_size)[: blocks.absmax.shape[0]]
    codes = np.take(load_scales(nested.table), blocks.absmax.load())
    return np.asarray(codes * outer + nested.offset, np.float32)


def row_readers(blocks: Blocks) -> tuple[Rows, DenseBlocks]:
    """`load_rows` and `iter_dense` of a SourceLinear."""
    return share_steps(blocks.shape, partial(_load_absmax, blocks), partial(_decode_rows, blocks))


def _decode_rows(blocks: Blocks, absmax: Floats, rows: slice) -> Floats:
    """A row need not begin with a byte or with a block."""
    columns, size = blocks.shape[1], blocks.block_size
    first, last = rows.start * columns, rows.stop * columns
    stream = blocks.codes.split_rows(blocks.codes.num_bytes)
    packed = stream.read_rows(slice(first // 2, -(-last // 2)))[:, 0]
    values = np.take(_pair_table(load_scales(blocks.table)), packed, mode="clip").view(np.float32)
    values = values[first % 2 :][: last - first]
    if first % size == 0 and last % size == 0:
        by_block = values.reshape(-1, size)
        by_block *= absmax[first // size : last // size, None]
    else:
        values *= np.repeat(absmax[first // size : -(-last // size)], size)[first % size :][
            : last - first
        ]
    return values.reshape(-1, columns)


def _pair_table(table: Floats) -> npt.NDArray[np.uint64]:
    """Both values of every byte, the high nibble first; minus zero becomes zero."""
    byte = np.arange(256)
    pairs = np.stack([table[byte >> 4], table[byte & 15]], axis=1) + np.float32(0)
    return pairs.view(np.uint64)[:, 0]
