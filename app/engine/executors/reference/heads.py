"""From hidden states to the queries, keys and values of the heads, before the rotation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from app.engine.executors.reference.modules import Linear
from app.spec.mla_spec import MlaSpec
from app.spec.model_spec import ModelSpec, QKNorm

Tensor = torch.Tensor
Heads = tuple[Tensor, Tensor, Tensor]


@dataclass(frozen=True, slots=True)
class ProjectedHeads:
    """Grouped-query attention: three linears, and norms of queries and keys."""

    spec: ModelSpec
    q_proj: Linear
    k_proj: Linear
    v_proj: Linear
    q_norm: Callable[[Tensor], Tensor]
    k_norm: Callable[[Tensor], Tensor]

    def __call__(self, x: Tensor) -> Heads:
        """x [n, hidden_size] -> queries [num_heads, n, head_dim], keys and values likewise."""
        queries = self._project(x, self.q_proj, self.q_norm)
        keys = self._project(x, self.k_proj, self.k_norm)
        return queries, keys, _split(self.v_proj(x), self.spec.num_key_value_heads)

    def _project(self, x: Tensor, proj: Linear, norm: Callable[[Tensor], Tensor]) -> Tensor:
        num_heads = proj.weight.shape[0] // self.spec.head_dim
        if self.spec.qk_norm is QKNorm.PROJECTION:
            return _split(norm(proj(x)), num_heads)
        return norm(_split(proj(x), num_heads))


@dataclass(frozen=True, slots=True)
class LatentHeads:
    """Multi-head latent attention in its expanded form; without q_a, `q_b` reads x."""

    spec: MlaSpec
    num_heads: int
    q_a: Callable[[Tensor], Tensor]
    q_a_norm: Callable[[Tensor], Tensor]
    q_b: Linear
    kv_a: Linear
    kv_a_norm: Callable[[Tensor], Tensor]
    kv_b: Linear

    def __call__(self, x: Tensor) -> Heads:
        """x [n, hidden_size] -> queries, keys [num_heads, n, qk_head_dim], values."""
        spec = self.spec
        queries = _split(self.q_b(self.q_a_norm(self.q_a(x))), self.num_heads)
        latent = self.kv_a(x)
        normed = self.kv_a_norm(latent[:, : spec.kv_lora_rank])
        rotating = latent[:, spec.kv_lora_rank :].expand(self.num_heads, -1, -1)
        expanded = _split(self.kv_b(normed), self.num_heads)
        still, values = (
            expanded[..., : spec.qk_nope_head_dim],
            expanded[..., spec.qk_nope_head_dim :],
        )
        return queries, torch.cat((still, rotating), dim=-1), values


def _split(x: Tensor, num_heads: int) -> Tensor:
    """[n, heads * head_dim] -> [heads, n, head_dim]."""
    return x.reshape(len(x), num_heads, -1).transpose(0, 1)
