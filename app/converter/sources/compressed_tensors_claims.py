"""Claims the tensors of one integer linear of compressed-tensors, whose labels may be wrong.

Releases before 0.18 left the bits unused that a word of 3, 5, 6 or 7-bit codes has over; releases
before 0.11 or so stored zero points as int8, or forgot them (compressed-tensors#225, #458).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from app.checkpoint.layout import FLOATS, I8, I32
from app.converter.sources.bitstream import dense_width, padded_width
from app.converter.sources.claims import TensorClaims
from app.converter.sources.compressed_tensors_config import WeightScheme
from app.converter.sources.compressed_tensors_integer import IntegerArrays, Storage
from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.linear_format import LinearPlace
from app.converter.sources.native_grid import column_order
from app.core.errors import InvalidSourceError, UnsupportedError

Shape = tuple[int, ...]
Version = tuple[int, int] | None

_DENSE_SINCE = (0, 18)
_I64 = np.dtype(np.int64)


class IntegerClaims:
    """Takes weight, scales, zero points, order and shape of one linear."""

    def __init__(
        self,
        place: LinearPlace,
        scheme: WeightScheme,
        tensors: TensorClaims[StoredArray],
        found: Mapping[str, StoredArray],
        version: Version,
    ) -> None:
        """`found` is all that the folder holds; `version` the release that wrote it."""
        self._place, self._scheme, self._tensors = place, scheme, tensors
        self._found, self._version = found, version
        self._group_size = self._checked_group_size()

    def take(self) -> IntegerArrays | None:
        """None when a tensor is missing or mis-shaped; InvalidSourceError when facts disagree."""
        (rows, columns), bits = self._place.shape, self._scheme.bits
        storage = self._storage()
        if storage is Storage.BYTES:
            weight = self._take("weight", (rows, columns), I8)
        else:
            weight = self._take("weight_packed", (rows, _width(columns, bits, storage)), I32)
            self._check_shape()
        scales = self._take("weight_scale", self._shape_of_scales("weight_scale"), *FLOATS)
        zeros, order = self._take_zeros(storage), self._take_order()
        if weight is None or scales is None:
            return None
        shape = self._place.shape
        return IntegerArrays(shape, bits, self._group_size, storage, weight, scales, zeros, order)

    def _take(self, name: str, shape: Shape, *dtypes: np.dtype[np.generic]) -> StoredArray | None:
        stored = self._tensors.take(self._name(name), shape)
        if stored is not None and dtypes and stored.dtype not in dtypes:
            raise UnsupportedError(
                "{name}: {stored} has the dtype {dtype}.",
                name=stored.path.name,
                stored=stored.name,
                dtype=stored.dtype,
            )
        return stored

    def _name(self, name: str) -> str:
        return f"{self._place.stem}.{name}"

    def _checked_group_size(self) -> int:
        columns, scheme = self._place.shape[1], self._scheme
        if scheme.strategy not in ("tensor", "channel", "group"):
            raise UnsupportedError(
                "{stem}: integers with the strategy {strategy} are not supported.",
                stem=self._place.stem,
                strategy=scheme.strategy,
            )
        if scheme.strategy != "group" or scheme.group_size is None:
            return columns
        if columns % scheme.group_size:
            raise InvalidSourceError(
                "{stem}: its {columns} columns are not whole groups of {group_size}.",
                stem=self._place.stem,
                columns=columns,
                group_size=scheme.group_size,
            )
        return scheme.group_size

    def _storage(self) -> Storage:
        packed = self._found.get(self._name("weight_packed"))
        if packed is None and self._name("weight") in self._found:
            return Storage.BYTES
        columns, bits = self._place.shape[1], self._scheme.bits
        dense, padded = dense_width(columns, bits), padded_width(columns, bits)
        if dense != padded:
            is_padded = packed is not None and packed.shape[-1:] == (padded,)
            return Storage.PADDED if is_padded else Storage.DENSE
        if 32 % bits == 0:
            return Storage.DENSE
        if self._version is None:
            raise InvalidSourceError(
                "{stem}: {bits}-bit codes of {columns} columns take as many words in both "
                "layouts, and no version says which it is.",
                stem=self._place.stem,
                bits=bits,
                columns=columns,
            )
        return Storage.DENSE if self._version >= _DENSE_SINCE else Storage.PADDED

    def _check_shape(self) -> None:
        """`weight_shape` holds [out, in] once more."""
        stored = self._take("weight_shape", (2,), I32, _I64)
        if stored is not None and tuple(stored.load()) != self._place.shape:
            raise InvalidSourceError(
                "{name}: {stored} says {found}, config.json {shape}.",
                name=stored.path.name,
                stored=stored.name,
                found=stored.load().tolist(),
                shape=list(self._place.shape),
            )

    def _shape_of_scales(self, name: str) -> Shape:
        """What the strategy allows: whichever spelling is found, else the usual one."""
        rows = self._place.shape[0]
        allowed: tuple[Shape, ...] = {
            "tensor": ((1,), (), (1, 1)),
            "channel": ((rows, 1), (rows,)),
        }.get(self._scheme.strategy, ((rows, self._num_groups),))
        found = self._found.get(self._name(name))
        return found.shape if found is not None and found.shape in allowed else allowed[0]

    @property
    def _num_groups(self) -> int:
        return self._place.shape[1] // self._group_size

    def _take_zeros(self, storage: Storage) -> StoredArray | None:
        stored = self._found.get(self._name("weight_zero_point"))
        if stored is None:
            self._check_needs_no_zeros()
            return None
        if stored.dtype == I32 and storage is not Storage.BYTES:
            width = _width(self._place.shape[0], self._scheme.bits, storage)
            zeros = self._take("weight_zero_point", (width, self._num_groups))
        else:
            zeros = self._take("weight_zero_point", self._shape_of_scales("weight_zero_point"), I8)
        if not self._scheme.is_symmetric:
            return zeros
        self._check_trivial(zeros)
        return None

    def _check_needs_no_zeros(self) -> None:
        if not self._scheme.is_symmetric:
            raise InvalidSourceError(
                "{stem} is declared asymmetric, but the program that wrote it dropped its zero "
                "points.",
                stem=self._place.stem,
            )

    def _check_trivial(self, zeros: StoredArray | None) -> None:
        """Old releases stored zeros of symmetric grids, too."""
        if zeros is not None and (zeros.dtype != I8 or zeros.load().any()):
            raise InvalidSourceError(
                "{stem} is declared symmetric, but its zero points are not all 0.",
                stem=self._place.stem,
            )

    def _take_order(self) -> npt.NDArray[np.int32] | None:
        name = "weight_g_idx"
        if self._name(name) not in self._found:
            if self._scheme.has_order:
                raise InvalidSourceError(
                    "{stem} is declared as ordered by activation, but has no {name}.",
                    stem=self._place.stem,
                    name=name,
                )
            return None
        stored = self._take(name, self._place.shape[1:], I32, _I64)
        groups = None if stored is None else stored.load().astype(np.int32)
        if groups is None or (groups == -1).all():  # -1: made, but never filled
            return None
        return column_order(groups, self._group_size, self._name(name))


def _width(count: int, bits: int, storage: Storage) -> int:
    return (padded_width if storage is Storage.PADDED else dense_width)(count, bits)
