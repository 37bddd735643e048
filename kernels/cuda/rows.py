"""Arguments and launches of rows.cu and norm.cu, as data."""

from __future__ import annotations

import numpy as np

from kernels.cuda.gemv import GEMV_ARGS

ROWS_THREADS = 128
NORM_THREADS = 256

# RowsArgs of rows.cu.
ROWS_ARGS = np.dtype(
    [
        ("matrix", GEMV_ARGS),
        *((name, np.uintp) for name in ("rows", "floats")),
        ("multiplier", np.float32),
    ],
    align=True,
)

# NormArgs of norm.cu.
NORM_ARGS = np.dtype(
    [
        *((name, np.uintp) for name in ("x", "weight", "bias", "residual")),
        *((name, np.int32) for name in ("size", "is_layer_norm")),
        *((name, np.float32) for name in ("eps", "multiplier")),
    ],
    align=True,
)
