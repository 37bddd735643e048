"""Float linears of a Hugging Face folder: read as they are."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from app.checkpoint.layout import FLOATS
from app.converter.sources.base import SourceLinear, SourceVector
from app.converter.sources.claims import TensorClaims
from app.converter.sources.file_rows import rows_per_block
from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.linear_format import LinearFormat, LinearPlace
from app.core.errors import InvalidSourceError, UnsupportedError

_TYPE_NAMES = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}


class DenseFormat(LinearFormat):
    """float32, float16 or bfloat16 [out, in] under `<stem>.weight`."""

    name = "dense"

    def is_stored(self, stem: str, tensors: TensorClaims[StoredArray]) -> bool:
        return f"{stem}.weight" in tensors

    def open_linear(
        self, place: LinearPlace, tensors: TensorClaims[StoredArray]
    ) -> SourceLinear | None:
        weight = tensors.take(f"{place.stem}.weight", place.shape)
        return None if weight is None else _create_linear(place, weight)


def create_vector(name: str, stored: StoredArray, offset: float = 0.0) -> SourceVector:
    """A norm weight, or whatever else stays dense; UnsupportedError unless it is a float.

    `offset` is what the family's own weight lacks and this one has.
    """
    _check_float(stored)
    load = partial(_load_vector, stored, offset)
    return SourceVector(name, stored.shape, stored.name, stored.num_bytes, load)


def _load_vector(stored: StoredArray, offset: float) -> npt.NDArray[Any]:
    values = load_floats(stored).reshape(stored.shape)
    return values.astype(np.float32) - np.float32(offset) if offset else values


def load_float_vector(stored: StoredArray) -> npt.NDArray[Any]:
    """One dimension of floats in the stored dtype; refused unless all are finite."""
    _check_float(stored)
    return load_floats(stored).reshape(-1)


def load_floats(stored: StoredArray) -> npt.NDArray[Any]:
    """A float array as stored; InvalidSourceError unless all are finite."""
    return _check_finite(stored, stored.rows.read().view(stored.dtype))


def _create_linear(place: LinearPlace, weight: StoredArray) -> SourceLinear:
    _check_float(weight)
    return SourceLinear(
        name=place.name,
        shape=place.shape,
        source_name=weight.name,
        source_type=_TYPE_NAMES[str(weight.dtype)],
        source_bytes=weight.num_bytes,
        is_quantized=False,
        native=None,
        load_native=partial(_refuse_native, weight.name),
        load_dense=partial(_load_float32, weight),
        load_bias=None if place.bias is None else partial(load_float_vector, place.bias),
        iter_dense=partial(_iter_float32, weight),
        load_rows=partial(_load_float32_rows, weight),
    )


def _refuse_native(name: str) -> Any:
    raise AssertionError(f"{name} is dense; only a quantized linear has a native form")


def _check_float(stored: StoredArray) -> None:
    if stored.dtype not in FLOATS:
        raise UnsupportedError(
            "{name}: {stored} has the dtype {dtype}.",
            name=stored.path.name,
            stored=stored.name,
            dtype=stored.dtype,
        )


def _load_float32(stored: StoredArray) -> npt.NDArray[np.float32]:
    return load_floats(stored).astype(np.float32)


def _iter_float32(stored: StoredArray) -> Iterator[tuple[slice, npt.NDArray[np.float32]]]:
    for rows, raw in stored.rows.iter_blocks(rows_per_block(stored.shape[1])):
        yield rows, _check_finite(stored, raw.view(stored.dtype)).astype(np.float32)


def _load_float32_rows(stored: StoredArray, rows: slice) -> npt.NDArray[np.float32]:
    raw = stored.rows.read_rows(rows).view(stored.dtype)
    return _check_finite(stored, raw).astype(np.float32)


def _check_finite(stored: StoredArray, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if not np.isfinite(values).all():
        raise InvalidSourceError(
            "{name}: {stored} is damaged: it holds a value that is not finite.",
            name=stored.path.name,
            stored=stored.name,
        )
    return values
