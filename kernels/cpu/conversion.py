"""What conversions spend their time on, natively: each function gives the bytes of its NumPy twin.

The twins stand in `app/converter/grid_search.py`, `app/converter/sources/gguf_codes.py` and
`app/engine/executors/cuda/code_tiles.py`, which also work where the library is not built
(`loader.is_available`). `instruction_set` None is `DEEPINFER_CPU_ISA` or else the best of this
machine; NativeError for one that it lacks. Arrays that are not C-contiguous are copied.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kernels.cpu.loader import check_code, load
from kernels.cpu.native import pointer
from kernels.cuda.pack import codes_bytes

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]

LANES, MAX_GROUP_SIZE = 16, 128  # groups are multiples of one, up to the other


def search_scales(
    weights: Floats,
    bits: int,
    levels: Sequence[float],
    source_scales: Floats | None = None,
    instruction_set: str | None = None,
) -> Floats:
    """Scales float32 [n] of least squared error for finite weights float32 [n, g].

    `levels` are where on the grid the greatest magnitude may fall; `source_scales` [n] compete.
    """
    weights, tried = np.ascontiguousarray(weights), np.array(levels, np.float32)
    competing = None if source_scales is None else np.ascontiguousarray(source_scales)
    scales = np.empty(len(weights), np.float32)
    check_code(
        load().di_search_scales(
            _name(instruction_set),
            pointer(weights),
            *weights.shape,
            bits,
            pointer(tried),
            len(tried),
            pointer(competing),
            pointer(scales),
        )
    )
    return scales


def round_to_grid(
    weights: Floats, scales: Floats, bits: int, instruction_set: str | None = None
) -> tuple[npt.NDArray[np.int8], Floats]:
    """Nearest codes int8 [n, g] of weights [n, g] under scales [n], and what they decode to."""
    weights, scales = np.ascontiguousarray(weights), np.ascontiguousarray(scales)
    codes, decoded = np.empty(weights.shape, np.int8), np.empty(weights.shape, np.float32)
    arrays = (pointer(weights), pointer(scales))
    check_code(
        load().di_round_to_grid(
            _name(instruction_set), *arrays, *weights.shape, bits, pointer(codes), pointer(decoded)
        )
    )
    return codes, decoded


def unpack_blocks(
    ggml_type: str, blocks: Bytes, packed_bytes: int, instruction_set: str | None = None
) -> Bytes:
    """The codes of blocks uint8 [rows, n, bytes], packed: uint8 [rows, n * packed_bytes]."""
    num_rows, num_blocks, block_bytes = blocks.shape
    blocks = np.ascontiguousarray(blocks)
    packed = np.empty((num_rows, num_blocks * packed_bytes), np.uint8)
    check_code(
        load().di_unpack_blocks(
            _name(instruction_set),
            ggml_type.encode(),
            pointer(blocks),
            num_rows * num_blocks,
            block_bytes,
            packed_bytes,
            pointer(packed),
        )
    )
    return packed


def pack_cuda_tiles(
    rows: Bytes, bits: int, num_columns: int, is_signed: bool, tiles: npt.NDArray[Any]
) -> None:
    """Fills `tiles` with codes of 3, 4 or 8 bits, or elements of 16, from bytes [out, row_bytes].

    `tiles` has the shape and type that kernels/cuda/pack.py gives them; with `is_signed` two's
    complement becomes offset binary. The NumPy definition is `code_tiles.tiles_by_numpy`.
    """
    if tiles.nbytes != codes_bytes((len(rows), num_columns), bits) or not tiles.flags.c_contiguous:
        raise ValueError("tiles of another size")
    rows = np.ascontiguousarray(rows)
    check_code(
        load().di_pack_cuda_tiles(
            pointer(rows), *rows.shape, num_columns, bits, int(is_signed), pointer(tiles)
        )
    )


def _name(instruction_set: str | None) -> bytes:
    wanted = os.environ.get("DEEPINFER_CPU_ISA", "") if instruction_set is None else instruction_set
    return wanted.encode()
