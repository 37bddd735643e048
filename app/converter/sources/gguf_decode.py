"""Rows of a GGUF tensor -> native arrays, or float32 as gguf's own library decodes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gguf.quants
import ml_dtypes
import numpy as np
import numpy.typing as npt
from gguf.constants import GGMLQuantizationType

from app.checkpoint.schemes import Linear
from app.converter.sources.file_rows import Bytes, FileRows, rows_per_block
from app.converter.sources.gguf_blocks import NATIVE_TYPES, Arrays
from app.core.errors import InvalidSourceError, UnsupportedError
from app.spec.gguf_types import GgmlType

FLOAT_TYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype(np.float32),
    "F16": np.dtype(np.float16),
    "BF16": np.dtype(ml_dtypes.bfloat16),
}
# Code books and non-uniform grids: gguf decodes them, no native scheme holds them.
_CODEBOOK_TYPES = frozenset(
    {"IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "NVFP4"}
)
_FLOAT_ARRAYS = ("scales", "biases", "super_scales", "super_biases")


def check_decodable(ggml_type: GgmlType, tensor: str, file: str) -> None:
    """UnsupportedError for a type that no library decodes, or that holds no weights."""
    if ggml_type.name not in FLOAT_TYPES.keys() | NATIVE_TYPES.keys() | _CODEBOOK_TYPES:
        raise UnsupportedError(
            "{file}: tensor {tensor!r} has the ggml type {ggml_type}, which is not supported.",
            file=file,
            tensor=tensor,
            ggml_type=ggml_type.name,
        )


def load_native(rows: FileRows, ggml_type: GgmlType, shape: tuple[int, int], tensor: str) -> Linear:
    """The linear in its type's own native scheme, taken apart block of rows by block of rows."""
    native = NATIVE_TYPES[ggml_type.name]
    arrays: Arrays = {}
    for part, raw in rows.iter_blocks(rows_per_block(shape[1])):
        blocks = raw.reshape(len(raw), -1, ggml_type.block_bytes)
        for name, values in native.extract(blocks).items():
            if name not in arrays:
                arrays[name] = np.empty((shape[0], *values.shape[1:]), values.dtype)
            arrays[name][part] = values
    for name in _FLOAT_ARRAYS:
        if name in arrays:
            _check_finite(arrays[name], rows, tensor)
    return Linear(shape, native.quant, **arrays)


def iter_dense(
    rows: FileRows, ggml_type: GgmlType, shape: tuple[int, int], tensor: str, scale: float = 1.0
) -> Iterator[tuple[slice, npt.NDArray[np.float32]]]:
    """(rows, float32 [rows, in]) from first to last, decoded by gguf; `scale` is NVFP4's alone."""
    for part, raw in rows.iter_blocks(rows_per_block(shape[1])):
        yield part, _decode_finite(raw, rows, ggml_type, tensor, scale)


def load_rows(
    rows: FileRows, ggml_type: GgmlType, tensor: str, scale: float, part: slice
) -> npt.NDArray[np.float32]:
    """Some rows of what `iter_dense` gives."""
    return _decode_finite(rows.read_rows(part), rows, ggml_type, tensor, scale)


def load_floats(rows: FileRows, ggml_type: GgmlType, tensor: str) -> npt.NDArray[Any]:
    """[rows, in] of an unquantized type, in its own dtype."""
    values = rows.read().view(FLOAT_TYPES[ggml_type.name])
    _check_finite(values, rows, tensor)
    return values


def _decode_finite(
    raw: Bytes, rows: FileRows, ggml_type: GgmlType, tensor: str, scale: float
) -> npt.NDArray[np.float32]:
    block = _decode(raw, ggml_type)
    _check_finite(block, rows, tensor)
    return block if scale == 1.0 else block * np.float32(scale)


def _decode(raw: Bytes, ggml_type: GgmlType) -> npt.NDArray[np.float32]:
    # As one long row: gguf takes a matrix 16 rows at a time, in Python.
    with np.errstate(all="ignore"):  # what is not finite is refused by the caller
        decoded = gguf.quants.dequantize(
            raw.reshape(1, -1), GGMLQuantizationType(ggml_type.type_id)
        )
    return np.asarray(decoded, np.float32).reshape(len(raw), -1)


def _check_finite(values: npt.NDArray[Any], rows: FileRows, tensor: str) -> None:
    if not np.isfinite(values).all():
        raise InvalidSourceError(
            "{name}: tensor {tensor!r} is damaged: it holds a value that is not finite.",
            name=rows.path.name,
            tensor=tensor,
        )
