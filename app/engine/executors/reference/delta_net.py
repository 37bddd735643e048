"""Gated delta net, token by token: the recurrent form of transformers' modeling_qwen3_next.py.

Of each head S [key_dim, value_dim] is all that is known of the past. With every token it decays,
is corrected by what its value lacks of what S says of its key, and is asked with its query:
S = decay * S; S = S + k (beta * (v - S^T k))^T; out = S^T q.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from app.engine.executors.reference.cache import ChunkContext
from app.engine.executors.reference.delta_state import DeltaState
from app.engine.executors.reference.modules import Linear, Norm
from app.spec.delta_net_spec import DeltaNetSpec

Tensor = torch.Tensor
functional = torch.nn.functional

_L2_EPS = 1e-6  # inside the root, as in transformers' l2norm


@dataclass(frozen=True, slots=True)
class DeltaNet:
    """The linear layer `index`; conv1d [channels, kernel], A_log and dt_bias [value heads]."""

    index: int
    spec: DeltaNetSpec
    in_proj_qkv: Linear
    in_proj_z: Linear
    in_proj_b: Linear
    in_proj_a: Linear
    conv1d: Tensor
    A_log: Tensor
    dt_bias: Tensor
    norm: Norm
    out_proj: Linear

    def __call__(self, x: Tensor, context: ChunkContext) -> Tensor:
        """x [n, hidden_size] -> [n, hidden_size]; moves the layer's state on by n tokens."""
        state = context.slot.states[self.index]
        mixed = functional.silu(self._convolve(self.in_proj_qkv(x), state))
        queries, keys, values = self._heads(mixed)
        decays = torch.exp(
            -self.A_log.exp() * functional.softplus(self.in_proj_a(x) + self.dt_bias)
        )
        betas = torch.sigmoid(self.in_proj_b(x))
        outputs = [
            _step(state, *token) for token in zip(queries, keys, values, decays, betas, strict=True)
        ]
        gates = self.in_proj_z(x).reshape(len(x), -1, self.spec.linear_value_head_dim)
        normed = self.norm(torch.stack(outputs)) * functional.silu(gates)
        return self.out_proj(normed.reshape(len(x), -1))

    def _convolve(self, x: Tensor, state: DeltaState) -> Tensor:
        """Each channel with its own kernel, over itself and its last inputs; [n, channels]."""
        padded = torch.cat((state.window, x.T), dim=1)
        state.window = padded[:, -state.window.shape[1] :].clone()
        kernel = self.conv1d[:, None]
        return functional.conv1d(padded[None], kernel, groups=len(kernel))[0].T

    def _heads(self, mixed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """[n, channels] -> queries, keys [n, value heads, key_dim], values [n, value heads, dim].

        Queries and keys have length 1, queries then that of the usual scaling.
        """
        spec, n = self.spec, len(mixed)
        sizes = [spec.key_size, spec.key_size, spec.value_size]
        queries, keys, values = torch.split(mixed, sizes, dim=1)
        repeats = spec.linear_num_value_heads // spec.linear_num_key_heads
        queries, keys = (
            _unit(part.reshape(n, spec.linear_num_key_heads, -1)).repeat_interleave(repeats, dim=1)
            for part in (queries, keys)
        )
        scaled = queries * spec.linear_key_head_dim**-0.5
        return scaled, keys, values.reshape(n, spec.linear_num_value_heads, -1)


def _step(
    state: DeltaState, query: Tensor, key: Tensor, value: Tensor, decay: Tensor, beta: Tensor
) -> Tensor:
    """One token of all heads: query and key [heads, key_dim], value [heads, value_dim]."""
    matrices = state.matrices * decay[:, None, None]
    known = (matrices * key[:, :, None]).sum(dim=1)
    correction = (value - known) * beta[:, None]
    state.matrices = matrices + key[:, :, None] * correction[:, None]
    return (state.matrices * query[:, :, None]).sum(dim=1)


def _unit(x: Tensor) -> Tensor:
    return x * torch.rsqrt(x.pow(2).sum(dim=-1, keepdim=True) + _L2_EPS)
