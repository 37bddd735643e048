"""Arguments and variants of delta_net.cu, as data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernels.cuda.build import ModuleSource

CONV_THREADS = 128
MAX_HEAD_DIM = 128  # of keys and of values: four threads hold a column of the state in registers
_PARTS = 4
_WARP = 32

# DeltaArgs of delta_net.cu.
DELTA_ARGS = np.dtype(
    [
        *((name, np.uintp) for name in (
            "x", "mixed", "out", "conv", "decay_rates", "dt_bias", "norm_weight", "windows",
            "states", "slots", "positions",
        )),
        *((name, np.int32) for name in (
            "num_rows", "x_stride", "num_key_heads", "num_value_heads",
        )),
        ("eps", np.float32),
    ],
    align=True,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DeltaVariant:
    """One compiled form: columns of a head's keys and values, tokens that the convolution sees."""

    key_dim: int
    value_dim: int
    conv_kernel: int

    @property
    def source(self) -> ModuleSource:
        """Kernels `convolve` and `apply_delta_rule`."""
        macros = {
            "KEY_DIM": self.key_dim,
            "VALUE_DIM": self.value_dim,
            "CONV_KERNEL": self.conv_kernel,
        }
        values = tuple((name, str(value)) for name, value in macros.items())
        return ModuleSource("delta_net.cu", values)

    @property
    def num_threads(self) -> int:
        """Of a block of `apply_delta_rule`."""
        return -(-self.value_dim * _PARTS // _WARP) * _WARP
