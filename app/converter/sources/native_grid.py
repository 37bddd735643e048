"""How a source's uniform integer grid is written natively: what every such format shares.

A grid of 2, 5, 6 or 7 bits is stored in the next native width, a group that is no native one as
several that are: both decode to the same bits, only wider.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from app.checkpoint.bits import pack_codes
from app.checkpoint.layout import F16
from app.checkpoint.schemes import QuantScheme, ScaleDtype, Scheme
from app.core.errors import InvalidSourceError

_GROUPS = (128, 64, 32, 16)
_ROW = -1


def native_scheme(
    bits: int, group_size: int, in_features: int, scheme: Scheme, scales: np.dtype[Any]
) -> QuantScheme | None:
    """The native scheme of a grid with `scales` of that dtype; None where no group size divides.

    The scale type is an upper bound: `native_scales` may find that float16 holds them all.
    """
    group = native_group_size(group_size, in_features)
    if group is None or not 2 <= bits <= 8:
        return None
    scale_dtype = ScaleDtype.FP16 if scales == F16 else ScaleDtype.FP32
    return QuantScheme(native_bits(bits), group, scheme, scale_dtype)


def native_bits(bits: int) -> int:
    """The narrowest native width that holds codes of `bits`."""
    return next(width for width in (3, 4, 8) if width >= bits)


def native_group_size(group_size: int, in_features: int) -> int | None:
    """The largest native group that source groups of `group_size` (-1: the row) consist of."""
    if group_size == _ROW or group_size >= in_features:
        return _ROW
    return next((size for size in _GROUPS if group_size % size == 0), None)


def to_native_groups(
    values: npt.NDArray[Any], group_size: int, in_features: int
) -> npt.NDArray[Any]:
    """Values [out, G], one for each source group, repeated for each native group: [out, G']."""
    native = native_group_size(group_size, in_features)
    if native is None:
        raise AssertionError(f"no native group divides {group_size}")
    if native in (_ROW, group_size):
        return np.ascontiguousarray(values)
    return np.ascontiguousarray(values[:, np.arange(0, in_features, native) // group_size])


def native_scales(scales: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """float16 where it holds every scale exactly (bfloat16 mostly does), else float32."""
    if scales.dtype == F16:
        return scales
    single = scales.astype(np.float32)
    with np.errstate(over="ignore"):
        half = single.astype(np.float16)
    return half if np.array_equal(half.astype(np.float32), single) else single


def column_order(
    g_idx: npt.NDArray[np.int32], group_size: int, name: str
) -> npt.NDArray[np.int32] | None:
    """The `perm` that makes the columns of each group neighbours; None where they are already.

    `g_idx` int32 [in] is the group of every column. Raises InvalidSourceError unless each group has
    `group_size` columns, the last one possibly fewer.
    """
    wanted = np.arange(g_idx.size) // group_size
    if np.array_equal(g_idx, wanted):
        return None
    order = np.argsort(g_idx, kind="stable").astype(np.int32)
    if not np.array_equal(g_idx[order], wanted):
        raise InvalidSourceError(
            "{name} does not put {group_size} columns into every group.",
            name=name,
            group_size=group_size,
        )
    return order


def flip_sign_bits(packed: npt.NDArray[np.uint8], bits: int) -> npt.NDArray[np.uint8]:
    """Packed codes of a native width, q + 2 ** (bits - 1) made two's complement q.

    Whole codes must fill each row's bytes.
    """
    pattern = pack_codes(np.full((1, 8), 1 << (bits - 1), np.uint8), bits)[0]
    return packed ^ np.resize(pattern, packed.shape[1])
