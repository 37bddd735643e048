"""Arguments and launches of copy.cu, as data."""

from __future__ import annotations

import numpy as np

from kernels.cuda.source import ModuleSource

COPY_THREADS = 256
ELEMENT_BYTES = 16
UNIT_BYTES = 4 * COPY_THREADS * ELEMENT_BYTES  # sizes are multiples
SOURCE = ModuleSource("copy.cu")  # kernels `copy_words` and `read_words`
_BLOCKS_PER_MULTIPROCESSOR = 8

# CopyArgs of copy.cu.
COPY_ARGS = np.dtype(
    [*((name, np.uintp) for name in ("from", "to")), ("count", np.int64)], align=True
)


def num_blocks(num_multiprocessors: int) -> int:
    """Of the grid: every thread that fits is busy."""
    return num_multiprocessors * _BLOCKS_PER_MULTIPROCESSOR
