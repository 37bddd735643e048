"""A gated delta net as a decoder's layer: its sizes, its weights, and what it computes in NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernels import reference
from kernels.cpu.structures import DeltaNet

_L2_EPS = 1e-6


@dataclass(frozen=True)
class DeltaSizes:
    """As in `di_delta_net`."""

    num_key_heads: int = 2
    num_value_heads: int = 6
    key_head_dim: int = 8
    value_head_dim: int = 16
    conv_kernel: int = 4

    linears = ("in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a", "out_proj")
    vectors = ("conv1d", "decay", "dt_bias", "delta_norm")

    @property
    def key_size(self) -> int:
        """Rows of all queries, and of all keys."""
        return self.num_key_heads * self.key_head_dim

    @property
    def value_size(self) -> int:
        """Rows of all values."""
        return self.num_value_heads * self.value_head_dim

    def shapes(self, hidden: int) -> dict[str, tuple[int, ...]]:
        """Of everything; the convolution's kernel is [taps, channels]."""
        channels = 2 * self.key_size + self.value_size
        return {
            "in_proj_qkv": (channels, hidden),
            "in_proj_z": (self.value_size, hidden),
            "in_proj_b": (self.num_value_heads, hidden),
            "in_proj_a": (self.num_value_heads, hidden),
            "out_proj": (hidden, self.value_size),
            "conv1d": (self.conv_kernel, channels),
            "decay": (self.num_value_heads,),
            "dt_bias": (self.num_value_heads,),
            "delta_norm": (self.value_head_dim,),
        }

    def config(self) -> DeltaNet:
        """For the library."""
        return DeltaNet(
            self.num_key_heads,
            self.num_value_heads,
            self.key_head_dim,
            self.value_head_dim,
            self.conv_kernel,
        )

    def run(self, x: Any, w: dict[str, Any], eps: float) -> Any:
        """x [n, hidden] -> [n, hidden], from an empty state on."""
        mixed = reference.convolve(reference.linear(x, w["in_proj_qkv"]), w["conv1d"])
        queries, keys, values = np.split(mixed, [self.key_size, 2 * self.key_size], axis=1)
        queries, keys = (self._shared(_unit(self._heads(part))) for part in (queries, keys))
        steps = np.log1p(np.exp(reference.linear(x, w["in_proj_a"]) + w["dt_bias"]))
        betas = reference.sigmoid(reference.linear(x, w["in_proj_b"]))
        values = values.reshape(len(x), self.num_value_heads, -1)
        out = reference.delta_rule(queries, keys, values, np.exp(-w["decay"] * steps), betas)
        gates = reference.activation("silu", reference.linear(x, w["in_proj_z"]))
        normed = reference.rms_norm(out, w["delta_norm"], eps).reshape(len(x), -1)
        return reference.linear(normed * gates, w["out_proj"])

    def _heads(self, x: Any) -> Any:
        return x.reshape(len(x), self.num_key_heads, self.key_head_dim)

    def _shared(self, heads: Any) -> Any:
        return np.repeat(heads, self.num_value_heads // self.num_key_heads, axis=1)


def _unit(x: Any) -> Any:
    return x / np.sqrt((x * x).sum(axis=-1, keepdims=True) + _L2_EPS)
