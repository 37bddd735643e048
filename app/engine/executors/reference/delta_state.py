"""What a gated delta net remembers of a sequence."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from app.spec.delta_net_spec import DeltaNetSpec

Tensor = torch.Tensor


@dataclass(slots=True)
class DeltaState:
    """What a layer knows of one sequence: window [channels, kernel - 1], the convolution's last
    inputs, and matrices [value heads, key_dim, value_dim]."""

    window: Tensor
    matrices: Tensor

    @property
    def num_bytes(self) -> int:
        """Bytes held."""
        return self.window.nbytes + self.matrices.nbytes


def create_state(spec: DeltaNetSpec) -> DeltaState:
    """Of a sequence that has not begun."""
    heads = (spec.linear_num_value_heads, spec.linear_key_head_dim, spec.linear_value_head_dim)
    window = torch.zeros(spec.num_channels, spec.linear_conv_kernel_dim - 1)
    return DeltaState(window, torch.zeros(heads))
