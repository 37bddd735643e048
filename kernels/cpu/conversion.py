"""What conversions spend their time on, natively: each function gives the bytes of its NumPy twin.

The twins stand in `app/converter/grid_search.py` and `app/converter/sources/gguf_codes.py`, which
also work where the library is not built (`loader.is_available`). `instruction_set` None is
`DEEPINFER_CPU_ISA` or else the best of this machine; NativeError for one that it lacks. Arrays that
are not C-contiguous are copied.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kernels.cpu.loader import check_code, load
from kernels.cpu.native import pointer

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


def _name(instruction_set: str | None) -> bytes:
    wanted = os.environ.get("DEEPINFER_CPU_ISA", "") if instruction_set is None else instruction_set
    return wanted.encode()
