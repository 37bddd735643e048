"""HQQ as transformers saves it: `.W_q`, `.scale`, `.zero` and the settings, all as tensors.

hqq:core/quantize.py (Quantizer.dequantize, HQQLinear.state_dict), core/bitpack.py, core/utils.py
(encode_safetensor_type). The weight is regrouped as a matrix M, [out * in / g, g] for axis 1 and
[g, out * in / g] for axis 0, and W = ((codes of M - zero) * scale).reshape(out, in) with a float
zero. A packed array holds equal slices of M's rows in the bits of one item, the first slice
highest. Here that arithmetic is float32, each step rounded once; hqq itself computes it in the
dtype of its scales (fp16 or bf16).

q * s + b with b = -zero * s is the same number wherever zero * s fits float32, which it does for
16-bit floats, and code - zero does too. So axis 1 is affine; the check after conversion tells
the rare zero that is too small for its codes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from math import gcd
from typing import Any

import numpy as np
import numpy.typing as npt

from app.checkpoint.bits import pack_codes
from app.checkpoint.layout import F32
from app.checkpoint.schemes import Linear, QuantScheme, Scheme
from app.converter.sources.base import SourceLinear
from app.converter.sources.claims import TensorClaims
from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.linear_format import Declaration, Folder, LinearFormat, LinearPlace
from app.converter.sources.native_grid import native_scheme
from app.converter.sources.quantized_linear import (
    Floats,
    create_quantized_linear,
    load_scales,
    narrow_scales,
    share_steps,
)
from app.core.errors import InvalidSourceError, UnsupportedError

_SETTINGS = (
    "nbits",
    "group_size",
    "shape",
    "axis",
    "packing",
    "view_as_float",
    "quant_scale",
    "quant_zero",
)
# What matters to hqq's own loading or to quantizing alone.
_UNUSED = (
    "unpack_view_dtype",
    "compute_dtype",
    "offload_meta",
    "encoded_state_dict",
    "stores_quant_config",
    "channel_wise",
    "optimize",
    "round_zero",
)


@dataclass(frozen=True, slots=True)
class _Packing:
    """`count` slices of `bits` in an item, the first one `top` bits up."""

    dtype: np.dtype[Any]
    bits: int
    count: int


_U8 = np.dtype(np.uint8)
_PACKINGS = {
    "8bit_u8": _Packing(_U8, 8, 1),
    "4bit_u8": _Packing(_U8, 4, 2),
    "3bit_32": _Packing(np.dtype(np.int32), 3, 10),
    "2bit_u8": _Packing(_U8, 2, 4),
    "1bit_u8": _Packing(_U8, 1, 8),
}


@dataclass(frozen=True, slots=True)
class _Settings:
    """One linear's settings, as its own tensors give them."""

    bits: int
    group_size: int
    axis: int
    packing: _Packing
    is_float_view: bool

    def grouped_shape(self, shape: tuple[int, int]) -> tuple[int, int]:
        """The shape of M."""
        count = shape[0] * shape[1] // self.group_size
        return (count, self.group_size) if self.axis == 1 else (self.group_size, count)

    def packed_shape(self, shape: tuple[int, int]) -> tuple[int, int]:
        """The shape of `.W_q`: the last slice may be filled up."""
        rows, columns = self.grouped_shape(shape)
        return -(-rows // self.packing.count), columns


@dataclass(frozen=True, slots=True)
class _Arrays:
    """A linear's stored arrays and what they mean."""

    shape: tuple[int, int]
    settings: _Settings
    codes: StoredArray
    scale: StoredArray
    zero: StoredArray


class HqqFormat(LinearFormat):
    """Every linear with `.W_q`; its settings stand in tensors beside it, not in config.json."""

    name = "hqq"

    def __init__(self, declaration: Declaration, folder: Folder) -> None:
        self._folder = folder
        common = declaration.table.get("quant_config")
        weights = common.get("weight_quant_params") if isinstance(common, Mapping) else None
        self._declared: Mapping[str, Any] = weights if isinstance(weights, Mapping) else {}

    def is_stored(self, stem: str, tensors: TensorClaims[StoredArray]) -> bool:
        return f"{stem}.W_q" in tensors

    def ignored(self, tensors: Mapping[str, StoredArray]) -> Collection[str]:
        stems = (name.removesuffix(".W_q") for name in tensors if name.endswith(".W_q"))
        return {f"{stem}.{suffix}" for stem in stems for suffix in _UNUSED}

    def open_linear(
        self, place: LinearPlace, tensors: TensorClaims[StoredArray]
    ) -> SourceLinear | None:
        fields = self._take_settings(place.stem, tensors)
        if fields is None:
            return None
        settings = _create_settings(place, fields, self._declared)
        arrays = self._take_arrays(place, settings, tensors)
        if arrays is None:
            return None
        stored = (arrays.codes, arrays.scale, arrays.zero)
        quant = _native_scheme(arrays)
        native = None if quant is None else (quant, partial(_load_native, quant, arrays))
        load_steps, decode = partial(_load_steps, arrays), partial(_decode, arrays)
        rows, blocks = share_steps(place.shape, load_steps, decode)
        return create_quantized_linear(place, f"HQQ-{settings.bits}", stored, rows, native, blocks)

    def _take_settings(
        self, stem: str, tensors: TensorClaims[StoredArray]
    ) -> dict[str, npt.NDArray[Any]] | None:
        """The small tensors by name; None when one is missing."""
        taken = {key: self._take_as_found(f"{stem}.{key}", tensors) for key in _SETTINGS}
        found = {key: stored for key, stored in taken.items() if stored is not None}
        if len(found) < len(taken):
            return None
        return {key: stored.load().reshape(-1) for key, stored in found.items()}

    def _take_as_found(self, name: str, tensors: TensorClaims[StoredArray]) -> StoredArray | None:
        """A setting, at most a short string, in whatever shape it has."""
        found = self._folder.tensors.get(name)
        is_small = found is not None and 0 < found.num_bytes <= 64
        return tensors.take(name, found.shape if found is not None and is_small else ())

    def _take_arrays(
        self, place: LinearPlace, settings: _Settings, tensors: TensorClaims[StoredArray]
    ) -> _Arrays | None:
        rows, columns = settings.grouped_shape(place.shape)
        per_group = (rows, 1) if settings.axis == 1 else (1, columns)
        scale = tensors.take(f"{place.stem}.scale", per_group)
        zero = tensors.take(f"{place.stem}.zero", per_group)
        codes = self._take_codes(place, settings, tensors)
        if codes is None or scale is None or zero is None:
            return None
        if not settings.is_float_view and codes.dtype != settings.packing.dtype:
            raise InvalidSourceError(
                "{codes} is {dtype} instead of {wanted}.",
                codes=codes.name,
                dtype=codes.dtype,
                wanted=settings.packing.dtype,
            )
        return _Arrays(place.shape, settings, codes, scale, zero)

    def _take_codes(
        self, place: LinearPlace, settings: _Settings, tensors: TensorClaims[StoredArray]
    ) -> StoredArray | None:
        """`.W_q`; in a float view the same bytes are stored as floats, fewer to a row."""
        name = f"{place.stem}.W_q"
        rows, columns = settings.packed_shape(place.shape)
        found = self._folder.tensors.get(name)
        item_bytes = settings.packing.dtype.itemsize if found is None else found.dtype.itemsize
        row_bytes = columns * settings.packing.dtype.itemsize
        return tensors.take(name, (rows, row_bytes // item_bytes))


def _create_settings(
    place: LinearPlace, fields: Mapping[str, npt.NDArray[Any]], declared: Mapping[str, Any]
) -> _Settings:
    """Raises UnsupportedError or InvalidSourceError for settings that mean no matrix [out, in]."""
    if fields["quant_scale"][0] or fields["quant_zero"][0]:
        raise UnsupportedError(
            "{stem}: HQQ with quantized scales or zeros is refused.", stem=place.stem
        )
    numbers = {key: float(fields[key][0]) for key in ("nbits", "group_size", "axis")}
    _check_declared(place.stem, numbers, declared)
    packing = _PACKINGS.get(bytes(fields["packing"].astype(np.uint8)).decode("latin-1"))
    bits, group_size, axis = numbers["nbits"], int(numbers["group_size"]), int(numbers["axis"])
    if packing is None or not 1 <= bits <= packing.bits or axis not in (0, 1):
        raise UnsupportedError(
            "{stem}: HQQ with {bits:g} bits, axis {axis} and this packing is not supported.",
            stem=place.stem,
            bits=bits,
            axis=axis,
        )
    if tuple(fields["shape"].tolist()) != place.shape:
        raise InvalidSourceError(
            "{stem}.shape says {found}, but the linear is {shape}.",
            stem=place.stem,
            found=fields["shape"].tolist(),
            shape=list(place.shape),
        )
    if group_size < 1 or place.shape[0] * place.shape[1] % group_size:
        raise InvalidSourceError(
            "{stem}.group_size is {group_size}, which cannot be.",
            stem=place.stem,
            group_size=group_size,
        )
    is_float_view = bool(fields["view_as_float"][0])
    return _Settings(packing.bits, group_size, axis, packing, is_float_view)


def _check_declared(stem: str, numbers: Mapping[str, float], declared: Mapping[str, Any]) -> None:
    """Where config.json has settings for all linears, they must be those of each one."""
    for key, value in numbers.items():
        # A group size of null means a row (or column); hqq stores its length.
        if declared.get(key) is not None and declared[key] != value:
            raise InvalidSourceError(
                "config.json says {key} {declared}, but {stem} has {value:g}.",
                key=key,
                declared=declared[key],
                stem=stem,
                value=value,
            )


def _native_scheme(arrays: _Arrays) -> QuantScheme | None:
    """Affine, where scale and zero are short enough.

    A group that crosses the end of a row consists of pieces that do not, as long as what divides
    both lengths: those are the native groups.
    """
    settings, columns = arrays.settings, arrays.shape[1]
    is_short = all(array.dtype.itemsize == 2 for array in (arrays.scale, arrays.zero))
    if settings.axis != 1 or not is_short:
        return None
    bits = max(settings.bits, 2)  # the codes of one bit stand in any width
    return native_scheme(bits, gcd(columns, settings.group_size), columns, Scheme.AFFINE, F32)


def _unpack(arrays: _Arrays) -> npt.NDArray[np.uint8]:
    """The codes in W's own order: uint8 [out, in]."""
    packing = arrays.settings.packing
    rows, columns = arrays.settings.grouped_shape(arrays.shape)
    items = arrays.codes.rows.read().view(packing.dtype)
    codes = np.empty((packing.count, *items.shape), np.uint8)
    for index in range(packing.count):
        codes[index] = _field(items, packing, index)
    return codes.reshape(-1, columns)[:rows].reshape(arrays.shape)


def _field(items: npt.NDArray[Any], packing: _Packing, index: int) -> npt.NDArray[Any]:
    """The slice `index` of packed items."""
    shift = packing.bits * (packing.count - 1 - index)
    mask = items.dtype.type((1 << packing.bits) - 1)
    return np.asarray((items >> items.dtype.type(shift)) & mask)


def _load_native(quant: QuantScheme, arrays: _Arrays) -> Linear:
    out_features, in_features = arrays.shape
    width = in_features if quant.group_size == -1 else quant.group_size
    group = np.arange(0, out_features * in_features, width) // arrays.settings.group_size
    scales = load_scales(arrays.scale).reshape(-1)
    biases = -load_scales(arrays.zero).reshape(-1) * scales
    linear = Linear(
        arrays.shape,
        quant,
        packed=pack_codes(_unpack(arrays), quant.bits),
        scales=scales[group].reshape(out_features, -1),
        biases=biases[group].reshape(out_features, -1),
    )
    return narrow_scales(linear)


def _load_steps(arrays: _Arrays) -> tuple[Floats, Floats]:
    """Zeros and scales: one for each row of M (axis 1), or for each column."""
    return load_scales(arrays.zero), load_scales(arrays.scale)


def _decode(arrays: _Arrays, steps: tuple[Floats, Floats], rows: slice) -> Floats:
    """Whole rows of M that hold the wanted rows of W, cut to them."""
    width = arrays.settings.grouped_shape(arrays.shape)[1]
    first, last = rows.start * arrays.shape[1], rows.stop * arrays.shape[1]
    groups = slice(first // width, -(-last // width))
    values = _unpack_groups(arrays, groups).astype(np.float32)
    zeros, scales = (step[groups] if arrays.settings.axis == 1 else step for step in steps)
    values -= zeros
    values *= scales
    values += 0  # minus zero becomes zero, as q * s + b gives it
    start = groups.start * width
    return values.reshape(-1)[first - start : last - start].reshape(-1, arrays.shape[1])


def _unpack_groups(arrays: _Arrays, groups: slice) -> npt.NDArray[np.uint8]:
    """Some rows of M, from whichever slices of the packed items they stand in."""
    packing, stored = arrays.settings.packing, arrays.codes.rows
    pieces, start = [], groups.start
    while start < groups.stop:
        index, row = divmod(start, stored.num_rows)
        stop = min(row + groups.stop - start, stored.num_rows)
        items = stored.read_rows(slice(row, stop)).view(packing.dtype)
        pieces.append(_field(items, packing, index).astype(np.uint8))
        start += stop - row
    return np.concatenate(pieces)
