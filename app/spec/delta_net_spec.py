"""Gated delta net: the past is one matrix a head, decayed and corrected with every token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from app.core.errors import UnsupportedError

_BYTES = 4  # the state is float32, whatever the cache of keys and values is


@dataclass(frozen=True, slots=True)
class DeltaNetSpec:
    """The sizes of a linear layer; each key head serves the value heads of its group.

    Weights of `linear_attn`: `in_proj_qkv` [channels, hidden_size] (all queries, all keys, all
    values), `in_proj_z` [value_size, hidden_size], the gate of the output, `in_proj_b` and
    `in_proj_a` [value heads, hidden_size], `out_proj` [hidden_size, value_size]; the vectors
    `A_log` and `dt_bias` [value heads], `norm` [linear_value_head_dim], to which no offset is
    added, and `conv1d` [channels, linear_conv_kernel_dim], whose last column meets the newest
    token.
    """

    linear_num_key_heads: int
    linear_num_value_heads: int
    linear_key_head_dim: int
    linear_value_head_dim: int
    linear_conv_kernel_dim: int

    @property
    def key_size(self) -> int:
        """Rows of all queries, and of all keys."""
        return self.linear_num_key_heads * self.linear_key_head_dim

    @property
    def value_size(self) -> int:
        """Rows of all values."""
        return self.linear_num_value_heads * self.linear_value_head_dim

    @property
    def num_channels(self) -> int:
        """Queries, keys and values side by side, as the convolution sees them."""
        return 2 * self.key_size + self.value_size

    @property
    def state_bytes(self) -> int:
        """What one layer remembers of one sequence, however long: the last inputs of the
        convolution [channels, kernel - 1], and [value heads, key_head_dim, value_head_dim]."""
        window = self.num_channels * (self.linear_conv_kernel_dim - 1)
        return _BYTES * (window + self.value_size * self.linear_key_head_dim)

    def validate(self) -> DeltaNetSpec:
        """Returns self; raises UnsupportedError naming the field that cannot be."""
        for name in (
            "linear_num_key_heads",
            "linear_num_value_heads",
            "linear_key_head_dim",
            "linear_value_head_dim",
        ):
            if getattr(self, name) <= 0:
                raise UnsupportedError("{name} must be positive.", name=name)
        if self.linear_num_value_heads % self.linear_num_key_heads:
            raise UnsupportedError(
                "linear_num_value_heads ({linear_num_value_heads}) is not a multiple of "
                "linear_num_key_heads ({linear_num_key_heads}).",
                linear_num_value_heads=self.linear_num_value_heads,
                linear_num_key_heads=self.linear_num_key_heads,
            )
        # The axes of a kernel of 1 cannot be told apart, and nobody has one.
        if self.linear_conv_kernel_dim < 2:
            raise UnsupportedError("linear_conv_kernel_dim must be at least 2.")
        return self


def decay_rates(a_log: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """exp(A_log), in float64 and rounded once: NumPy's float32 differs between systems."""
    return np.exp(a_log.astype(np.float64)).astype(np.float32)
