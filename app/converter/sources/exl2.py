"""EXL2 folders: groups of 2 to 8 bits side by side in one linear, symmetric, columns reordered.

Layout: turboderp-org/exllamav2:exllamav2_ext/cuda/q_matrix.cu (reconstruct_kernel), conversion/
adaptivegptq.py. `q_weight` int32 [words, out] is one bitstream down each column, every group
starting on a word; `q_groups` int16 holds (bits, first word) of each group; `q_scale` int32
[G, out / 8] 4-bit scale codes; `q_scale_max` float16 [G]; `q_invperm` [in]: where the weights of an
input stand. `out` is padded to a multiple of 32.

    W = (q - 2 ** (bits - 1)) * scale        scale = (code + 1) ** 2 * q_scale_max / 256

Here in float32, where the scale is exact; ExLlamaV2 rounds the scale and the product to float16.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from app.checkpoint.layout import F16, I32
from app.checkpoint.schemes import QuantScheme, ScaleDtype, Scheme
from app.converter.sources.base import SourceLinear
from app.converter.sources.claims import TensorClaims
from app.converter.sources.exl2_arrays import (
    Exl2Arrays,
    Group,
    iter_dense,
    load_native,
    load_rows,
)
from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.linear_format import Declaration, Folder, LinearFormat, LinearPlace
from app.converter.sources.native_grid import native_bits
from app.converter.sources.quantized_linear import create_quantized_linear
from app.core.errors import InvalidSourceError, UnsupportedError

_BITS = (2, 3, 4, 5, 6, 8)
_NATIVE_GROUPS = (128, 64, 32, 16)
_PADDING = 32
_I16 = np.dtype(np.int16)


class Exl2Format(LinearFormat):
    """`.q_weight` and what belongs to it for each quantized linear; groups and order are read."""

    name = "exl2"

    def __init__(self, declaration: Declaration, folder: Folder) -> None:
        self._tensors = folder.tensors

    def is_stored(self, stem: str, tensors: TensorClaims[StoredArray]) -> bool:
        return f"{stem}.q_weight" in tensors

    def open_linear(
        self, place: LinearPlace, tensors: TensorClaims[StoredArray]
    ) -> SourceLinear | None:
        arrays = self._take(place, tensors)
        if arrays is None:
            return None
        quant = _native_scheme(arrays)
        return create_quantized_linear(
            place,
            _describe(arrays.groups),
            (arrays.q_weight, arrays.q_scale, arrays.q_scale_max),
            partial(load_rows, arrays),
            None if quant is None else (quant, partial(load_native, arrays, quant)),
            partial(iter_dense, arrays),
        )

    def _take(self, place: LinearPlace, tensors: TensorClaims[StoredArray]) -> Exl2Arrays | None:
        stem, out_features = place.stem, place.shape[0]
        groups = self._take_groups(place, tensors)
        order = self._take_order(place, tensors)
        if groups is None:
            return None
        width = out_features + -out_features % _PADDING
        q_weight = tensors.take(f"{stem}.q_weight", (groups[-1].words.stop, width))
        q_scale = tensors.take(f"{stem}.q_scale", (len(groups), width // 8))
        q_scale_max = tensors.take(f"{stem}.q_scale_max", (len(groups),))
        if q_weight is None or q_scale is None or q_scale_max is None:
            return None
        _check_dtypes({q_weight: (I32,), q_scale: (I32,), q_scale_max: (F16,)})
        return Exl2Arrays(place.shape, groups, q_weight, q_scale, q_scale_max, order)

    def _take_groups(
        self, place: LinearPlace, tensors: TensorClaims[StoredArray]
    ) -> tuple[Group, ...] | None:
        name = f"{place.stem}.q_groups"
        found = self._tensors.get(name)
        stored = tensors.take(name, (2 * (found.num_bytes // 4),) if found else ())
        if stored is None:
            return None
        _check_dtypes({stored: (_I16,)})
        pairs = stored.load().view(np.uint16).astype(np.int64).reshape(-1, 2)
        groups = tuple(_iter_groups(pairs, place.shape[1]))
        if not groups or groups[-1].columns.stop != place.shape[1]:
            raise InvalidSourceError(
                "{name} does not divide {num_columns} columns.",
                name=name,
                num_columns=place.shape[1],
            )
        return groups

    def _take_order(
        self, place: LinearPlace, tensors: TensorClaims[StoredArray]
    ) -> npt.NDArray[np.int32] | None:
        """Which input each stored column belongs to; None where that is the column itself."""
        name = f"{place.stem}.q_invperm"
        stored = tensors.take(name, place.shape[1:])
        if stored is None:
            return None
        _check_dtypes({stored: (I32, _I16)})
        inverse = stored.load()
        places = (inverse.view(np.uint16) if stored.dtype == _I16 else inverse).astype(np.int64)
        order = np.argsort(places)
        columns = np.arange(place.shape[1])
        if not np.array_equal(places[order], columns):
            raise InvalidSourceError(
                "{name} is not an order of {num_columns} columns.",
                name=name,
                num_columns=len(columns),
            )
        return None if np.array_equal(order, columns) else order.astype(np.int32)


def _iter_groups(pairs: npt.NDArray[np.int64], in_features: int) -> Iterator[Group]:
    """Groups from (bits, first word); stops where they cannot be meant."""
    column = 0
    for index, (bits, first) in enumerate(pairs.tolist()):
        is_last = index == len(pairs) - 1
        rest = (in_features - column) * bits // 32
        last = first + rest if is_last else int(pairs[index + 1, 1])
        count = (last - first) * 32 // bits if bits in _BITS else 0
        if count < 1 or count * bits != (last - first) * 32 or (index == 0 and first != 0):
            return
        yield Group(bits, slice(first, last), slice(column, column + count))
        column += count


def _native_scheme(arrays: Exl2Arrays) -> QuantScheme | None:
    """Symmetric in the width of the widest group; None where no group size divides them all."""
    group_size = -1
    if len(arrays.groups) > 1:
        starts = [group.columns.start for group in arrays.groups]
        sizes = (size for size in _NATIVE_GROUPS if not any(start % size for start in starts))
        group_size = next(sizes, 0)
    if group_size == 0:
        return None
    bits = native_bits(max(group.bits for group in arrays.groups))
    return QuantScheme(bits, group_size, Scheme.SYM, ScaleDtype.FP32)


def _check_dtypes(wanted: dict[StoredArray, tuple[np.dtype[Any], ...]]) -> None:
    for stored, dtypes in wanted.items():
        if stored.dtype not in dtypes:
            raise UnsupportedError(
                "{name}: {stored} has the dtype {dtype}.",
                name=stored.path.name,
                stored=stored.name,
                dtype=stored.dtype,
            )


def _describe(groups: tuple[Group, ...]) -> str:
    widths = sorted({group.bits for group in groups})
    return f"EXL2 int{'/'.join(map(str, widths))}"
