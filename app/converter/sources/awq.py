"""AWQ: AutoAWQ's gemm, gemv and gemv_fast layouts and llm-awq's, told apart by their shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy.typing as npt

from app.checkpoint.layout import FLOATS, I32
from app.checkpoint.schemes import Linear, QuantScheme, Scheme
from app.converter.sources.awq_act_scales import divide_columns, find_act_scales
from app.converter.sources.awq_dense import decode_rows
from app.converter.sources.awq_layouts import GEMM, GEMV, GEMV_FAST, LAYOUTS, AwqLayout
from app.converter.sources.awq_native import AwqArrays, create_native
from app.converter.sources.base import SourceLinear
from app.converter.sources.claims import TensorClaims
from app.converter.sources.dense import DenseFormat
from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.linear_format import Declaration, Folder, LinearFormat, LinearPlace
from app.converter.sources.native_grid import native_scheme
from app.converter.sources.quantized_linear import (
    Floats,
    create_quantized_linear,
    iter_row_slices,
    load_scales,
)
from app.core.errors import InvalidSourceError, UnsupportedError

_DENSE = DenseFormat()
_ROW = -1
_LAYOUT_OF_VERSION = {
    "gemm": GEMM,
    "exllama": GEMM,  # these three are runtimes for gemm checkpoints
    "exllamav2": GEMM,
    "ipex": GEMM,
    "gemv": GEMV,
    "gemv_fast": GEMV_FAST,
}


class _Settings(NamedTuple):
    """What the declaration says; `layout` is None where llm-awq's labels mean nothing."""

    group_size: int
    layout: AwqLayout | None


class _Stored(NamedTuple):
    """The arrays of one linear, not read yet."""

    qweight: StoredArray
    scales: StoredArray
    zeros: StoredArray


class AwqFormat(LinearFormat):
    """4-bit AWQ; one layout for the whole folder."""

    name = "awq"

    def __init__(self, folder: Folder, layout: AwqLayout, group_size: int) -> None:
        self._layout, self._group_size = layout, group_size
        self._act_scales = find_act_scales(folder)

    def is_stored(self, stem: str, tensors: TensorClaims[StoredArray]) -> bool:
        return f"{stem}.qweight" in tensors or stem in self._act_scales

    def open_linear(
        self, place: LinearPlace, tensors: TensorClaims[StoredArray]
    ) -> SourceLinear | None:
        is_quantized = f"{place.stem}.qweight" in tensors
        linear = (self._open if is_quantized else _DENSE.open_linear)(place, tensors)
        act_scales = self._act_scales.get(place.stem)
        if linear is None or act_scales is None:
            return linear
        stored = tensors.take(act_scales.name, place.shape[1:])
        return None if stored is None else divide_columns(linear, stored)

    def _open(self, place: LinearPlace, tensors: TensorClaims[StoredArray]) -> SourceLinear | None:
        group_size = _width(self._group_size, place.shape)
        stored = self._take(place, group_size, tensors)
        if stored is None:
            return None
        _check_dtypes(stored, self._layout)
        scheme = Scheme.AFFINE if self._layout is GEMV_FAST else Scheme.ZERO
        quant = native_scheme(4, group_size, place.shape[1], scheme, stored.scales.dtype)
        return create_quantized_linear(
            place,
            f"AWQ int4 g{group_size}",
            stored,
            partial(_load_rows, self._layout, group_size, stored),
            None if quant is None else (quant, self._native_loader(quant, group_size, stored)),
            partial(_iter_dense, self._layout, group_size, stored, place.shape),
        )

    def _native_loader(
        self, quant: QuantScheme, group_size: int, stored: _Stored
    ) -> Callable[[], Linear]:
        return partial(_load_native, self._layout, quant, group_size, stored)

    def _take(
        self, place: LinearPlace, group_size: int, tensors: TensorClaims[StoredArray]
    ) -> _Stored | None:
        shapes = self._layout.shapes(place.shape, group_size)
        if shapes is None:
            raise InvalidSourceError(
                "{stem} is {shape}, which AWQ's layout {name} with groups of {group_size} does "
                "not hold.",
                stem=place.stem,
                shape=list(place.shape),
                name=self._layout.name,
                group_size=group_size,
            )
        qweight = tensors.take(f"{place.stem}.qweight", shapes.qweight)
        scales = tensors.take(f"{place.stem}.scales", shapes.scales)
        zeros = tensors.take(_zeros_name(place.stem, tensors), shapes.zeros)
        if qweight is None or scales is None or zeros is None:
            return None
        return _Stored(qweight, scales, zeros)


def from_folder(declaration: Declaration, folder: Folder) -> AwqFormat:
    """Raises UnsupportedError for what AWQ never was in 4 bits, InvalidSourceError for disagreement
    of declaration and shapes."""
    settings = _read_settings(declaration, folder.name)
    layout = _find_layout(folder, settings)
    if settings.layout not in (None, layout):
        raise InvalidSourceError(
            "{name}: {where} says version {version}, but the shapes are those of AWQ's layout "
            "{layout}.",
            name=folder.name,
            where=declaration.where,
            version=declaration.table.get("version"),
            layout=layout.name,
        )
    return AwqFormat(folder, layout, settings.group_size)


def _read_settings(declaration: Declaration, name: str) -> _Settings:
    table = declaration.table
    bits = table.get("bits", table.get("w_bit", 4))
    if bits != 4:
        raise UnsupportedError(
            "{name}: AWQ with {bits} bits is not supported.", name=name, bits=bits
        )
    group_size = table.get("group_size", table.get("q_group_size", 128))
    if type(group_size) is not int or (group_size < 1 and group_size != _ROW):
        raise InvalidSourceError(
            "{name}: {where} has the group size {group_size!r}.",
            name=name,
            where=declaration.where,
            group_size=group_size,
        )
    if table.get("backend") == "llm-awq":
        return _Settings(group_size, None)
    version = str(table.get("version") or "gemm").lower()
    if version not in _LAYOUT_OF_VERSION:
        raise UnsupportedError(
            "{name}: AWQ's layout {version} is not supported.", name=name, version=version
        )
    return _Settings(group_size, _LAYOUT_OF_VERSION[version])


def _find_layout(folder: Folder, settings: _Settings) -> AwqLayout:
    """The layout that most quantized linears have; of several, the declared one.

    A square linear may fit two, a damaged one none: then the others decide.
    """
    votes = {layout: _count_fits(folder, layout, settings.group_size) for layout in LAYOUTS}
    layout = max(votes, key=lambda layout: (votes[layout], layout is settings.layout))
    if votes[layout]:
        return layout
    if _looks_like_gptq(folder):
        raise InvalidSourceError(
            "{name}: the shapes of its quantized tensors are those of no AWQ layout with groups of "
            "{group_size}. They are those of GPTQ.",
            name=folder.name,
            group_size=settings.group_size,
        )
    raise InvalidSourceError(
        "{name}: the shapes of its quantized tensors are those of no AWQ layout with groups of "
        "{group_size}.",
        name=folder.name,
        group_size=settings.group_size,
    )


def _count_fits(folder: Folder, layout: AwqLayout, group_size: int) -> int:
    return sum(
        _fits(folder, layout, stem, folder.shapes[canonical], group_size)
        for canonical, stem in folder.stems.items()
    )


def _fits(
    folder: Folder, layout: AwqLayout, stem: str, shape: tuple[int, int], group_size: int
) -> bool:
    shapes = layout.shapes(shape, _width(group_size, shape))
    qweight = folder.tensors.get(f"{stem}.qweight")
    scales = folder.tensors.get(f"{stem}.scales")
    if shapes is None or qweight is None or scales is None:
        return False
    found = (qweight.dtype, qweight.shape, scales.shape)
    return found == (layout.dtype, shapes.qweight, shapes.scales)


def _looks_like_gptq(folder: Folder) -> bool:
    shapes = {f"{stem}.qweight": folder.shapes[name] for name, stem in folder.stems.items()}
    return any(
        folder.tensors[name].shape == (columns // 8, rows)
        for name, (rows, columns) in shapes.items()
        if name in folder.tensors
    )


def _width(group_size: int, shape: tuple[int, int]) -> int:
    return shape[1] if group_size == _ROW else group_size


def _zeros_name(stem: str, tensors: TensorClaims[StoredArray]) -> str:
    scaled = f"{stem}.scaled_zeros"
    return scaled if scaled in tensors else f"{stem}.qzeros"


def _check_dtypes(stored: _Stored, layout: AwqLayout) -> None:
    wanted: tuple[tuple[Any, ...], ...] = (
        (layout.dtype,),
        FLOATS,
        FLOATS if layout is GEMV_FAST else (I32,),
    )
    for array, dtypes in zip(stored, wanted, strict=True):
        if array.dtype not in dtypes:
            raise UnsupportedError(
                "{name}: {array} has the dtype {dtype}.",
                name=array.path.name,
                array=array.name,
                dtype=array.dtype,
            )


def _load_native(layout: AwqLayout, quant: QuantScheme, group_size: int, stored: _Stored) -> Linear:
    name = stored.qweight.name.removesuffix(".qweight")
    return create_native(name, layout.name, quant, group_size, _read(stored))


def _iter_dense(
    layout: AwqLayout, group_size: int, stored: _Stored, shape: tuple[int, int]
) -> Iterator[tuple[slice, Floats]]:
    arrays = _read(stored)
    for rows in iter_row_slices(shape):
        yield rows, decode_rows(layout.name, group_size, arrays, rows)


def _load_rows(layout: AwqLayout, group_size: int, stored: _Stored, rows: slice) -> Floats:
    """Of a gemm weight, whose rows are columns, only the words that hold these are read."""
    if layout is not GEMM:
        return decode_rows(layout.name, group_size, _read(stored), rows)
    words = slice(rows.start // 8, -(-rows.stop // 8))
    outputs = slice(8 * words.start, 8 * words.stop)
    zeros, scales = stored.zeros.load()[:, words], load_scales(stored.scales)[:, outputs]
    arrays = AwqArrays(stored.qweight.load_columns(words), scales, zeros)
    inside = slice(rows.start - outputs.start, rows.stop - outputs.start)
    return decode_rows(layout.name, group_size, arrays, inside)


def _read(stored: _Stored) -> AwqArrays:
    return AwqArrays(*(_read_array(array) for array in stored))


def _read_array(stored: StoredArray) -> npt.NDArray[Any]:
    return load_scales(stored) if stored.dtype in FLOATS else stored.load()
