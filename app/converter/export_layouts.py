"""Writes a grid's arrays as compressed-tensors or GPTQ store them.

compressed-tensors 0.20: compressors/pack_quantized/{base,helpers}.py. GPTQ: gptqmodel
nn_modules/qlinear/__init__.py (`pack_block`). Both are little-endian bitstreams in 32-bit words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from app.checkpoint.bits import pack_codes
from app.converter.export_grid import ExportGrid, GridArrays

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.uint8]


def compressed_tensors_arrays(arrays: GridArrays, grid: ExportGrid) -> dict[str, Array]:
    """weight_packed int32 [out, words of in], weight_scale [out, G], weight_shape, zero points."""
    stored: dict[str, Array] = {
        "weight_packed": _words(arrays.codes, grid.bits),
        "weight_scale": arrays.scales,
        "weight_shape": np.array(arrays.codes.shape, np.int64),
    }
    if not grid.is_symmetric:
        stored["weight_zero_point"] = _words(arrays.zeros.T, grid.bits).T
    return stored


def gptq_arrays(
    arrays: GridArrays,
    grid: ExportGrid,
    perm: npt.NDArray[np.int32] | None,
    *,
    stores_zero_less_one: bool,
) -> dict[str, Array]:
    """qweight int32 [words of in, out], qzeros int32 [G, words of out], scales [G, out], g_idx."""
    codes, in_features = arrays.codes, arrays.codes.shape[1]
    width = in_features if grid.group_size < 0 else grid.group_size
    g_idx = np.arange(in_features, dtype=np.int32) // np.int32(width)
    if perm is not None:
        codes, in_order = np.empty_like(codes), g_idx
        codes[:, perm] = arrays.codes
        g_idx = np.empty_like(in_order)
        g_idx[perm] = in_order
    return {
        "qweight": _words(codes, grid.bits).T,
        "qzeros": _words(arrays.zeros.T - np.uint8(stores_zero_less_one), grid.bits),
        "scales": arrays.scales.T,
        "g_idx": g_idx,
    }


def _words(codes: Codes, bits: int) -> npt.NDArray[np.int32]:
    """int32 [rows, words]: each row a bitstream, its last word filled up with zero bits."""
    packed = pack_codes(np.ascontiguousarray(codes), bits)
    return np.pad(packed, ((0, 0), (0, -packed.shape[1] % 4))).view(np.int32)
