"""A checkpoint's codes as tiles (kernels/cuda/pack.py): what loading a model spends its time on.

This NumPy is the definition; `kernels.cpu.conversion` gives the same bytes twenty times as fast
where the native library is built. Neither holds more than the block of rows that it is given.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from app.checkpoint.bits import unpack_codes
from app.checkpoint.schemes import QuantScheme, Scheme
from kernels.cpu.conversion import pack_cuda_tiles
from kernels.cpu.loader import is_available
from kernels.cuda.pack import empty_tiles, pack_codes, pack_dense, pack_nibbles

Bytes = npt.NDArray[np.uint8]
_NIBBLE_BITS, _HALF_BITS = 4, 16


def tiles_of_codes(packed: Bytes, quant: QuantScheme, num_columns: int) -> npt.NDArray[Any]:
    """Of rows of codes uint8 [out, row_bytes]; two's complement becomes offset binary."""
    is_signed = quant.scheme is Scheme.SYM
    if not is_available():
        return tiles_by_numpy(packed, quant.bits, num_columns, is_signed)
    tiles = empty_tiles((len(packed), num_columns), quant.bits)
    pack_cuda_tiles(packed, quant.bits, num_columns, is_signed, tiles)
    return tiles


def tiles_by_numpy(packed: Bytes, bits: int, num_columns: int, is_signed: bool) -> npt.NDArray[Any]:
    """`tiles_of_codes` without the library."""
    sign = 1 << (bits - 1)
    if bits == _NIBBLE_BITS:
        flip = np.uint8(sign << 4 | sign if is_signed else 0)
        return pack_nibbles(packed ^ flip, num_columns)
    codes = unpack_codes(packed, bits, num_columns, signed=False)
    return pack_codes(codes ^ np.uint8(sign) if is_signed else codes, bits)


def tiles_of_halfs(weight: npt.NDArray[np.float16]) -> npt.NDArray[np.float16]:
    """Of a dense matrix float16 [out, in]."""
    if not is_available():
        return pack_dense(weight)
    tiles = empty_tiles((weight.shape[0], weight.shape[1]), _HALF_BITS)
    rows = np.ascontiguousarray(weight).view(np.uint8)
    pack_cuda_tiles(rows, _HALF_BITS, weight.shape[1], False, tiles)
    return tiles
