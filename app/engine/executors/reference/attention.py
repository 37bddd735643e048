"""Attention over the cache with every variation of the spec."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from app.engine.executors.reference.cache import ChunkContext, Rotation
from app.engine.executors.reference.heads import Heads
from app.engine.executors.reference.modules import Linear, softcap
from app.spec.model_spec import ModelSpec, QueryScaling

Tensor = torch.Tensor


@dataclass(frozen=True, slots=True)
class Attention:
    """The attention block of layer `index`; `sinks` [num_heads] and `output_gate` may be absent.

    `cache_index` is the place of its keys and values among those that are cached.
    """

    index: int
    cache_index: int
    spec: ModelSpec
    heads: Callable[[Tensor], Heads]
    o_proj: Linear
    sinks: Tensor | None
    output_gate: Linear | None

    def __call__(self, x: Tensor, context: ChunkContext) -> Tensor:
        """x [n, hidden_size] -> [n, hidden_size]; writes the layer's keys and values."""
        positions, slot = context.positions, context.slot
        queries, keys, values = self.heads(x)
        rope = self.spec.layer_rope(self.index)
        if rope is not None:
            rotation = context.rotations[rope]
            queries, keys = self._rotate(queries, rotation), self._rotate(keys, rotation)
        if self.spec.query_scaling is not None:
            queries = queries * _query_scale(self.spec.query_scaling, positions)
        slot.write(self.cache_index, positions, keys, values)
        end = int(positions[-1]) + 1
        mask = _mask(positions, end, self.spec.layer_window(self.index))
        mixed = self._attend(queries, *slot.read(self.cache_index, end), mask)
        if self.output_gate is not None:
            mixed = mixed * torch.sigmoid(self.output_gate(x))
        return self.o_proj(mixed)

    def _rotate(self, x: Tensor, rotation: Rotation) -> Tensor:
        """Latent attention rotates a head's last columns, all others its first."""
        if self.spec.mla is None:
            return rotation(x)
        still = self.spec.mla.qk_nope_head_dim
        return torch.cat((x[..., :still], rotation(x[..., still:])), dim=-1)

    def _attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        """[num_heads, n, head_dim] over twice [num_kv_heads, m, width] -> [n, heads * width]."""
        num_heads, n, head_dim = queries.shape
        # The query heads of one key/value head stand together.
        grouped = queries.reshape(len(keys), -1, head_dim)
        scores = (grouped @ keys.transpose(1, 2)) * self.spec.attention_multiplier
        scores = softcap(scores, self.spec.attn_logit_softcapping)
        scores = scores.reshape(num_heads, n, -1).masked_fill(~mask, float("-inf"))
        weights = self._softmax(scores).reshape(len(keys), -1, keys.shape[1])
        mixed: Tensor = weights @ values
        return mixed.reshape(num_heads, n, -1).transpose(0, 1).reshape(n, -1)

    def _softmax(self, scores: Tensor) -> Tensor:
        """Over the last axis; a sink takes part in the sum and is dropped."""
        if self.sinks is None:
            return scores.softmax(dim=-1)
        sinks = self.sinks[:, None, None].expand(*scores.shape[:2], 1)
        return torch.cat((scores, sinks), dim=-1).softmax(dim=-1)[..., :-1]


def _mask(positions: Tensor, end: int, window: int | None) -> Tensor:
    """[n, end], true where a query may look: at no later key, and at `window` keys at most."""
    distance = positions[:, None] - torch.arange(end)
    allowed = distance >= 0
    return allowed if window is None else allowed & (distance < window)


def _query_scale(scaling: QueryScaling, positions: Tensor) -> Tensor:
    """[n, 1]."""
    turns = torch.floor(positions.float() / scaling.original_max_position_embeddings)
    return (1 + scaling.beta * torch.log(1 + turns))[:, None]
