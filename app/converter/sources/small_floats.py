"""Floats of 8 and 4 bits as tables of all their values (OCP Microscaling Formats v1.0)."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import numpy.typing as npt

E4M3 = np.dtype(ml_dtypes.float8_e4m3fn)
E4M3_VALUES: npt.NDArray[np.float32] = np.arange(256, dtype=np.uint8).view(E4M3).astype(np.float32)
# Doubled, e2m1's values are integers; minus zero becomes zero.
DOUBLED_E2M1 = np.array([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12], np.int8)
