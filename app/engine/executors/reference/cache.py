"""What is kept of one sequence, and what every layer needs to know of a chunk."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from app.engine.executors.reference.delta_state import DeltaState, create_state
from app.spec.model_spec import ModelSpec
from app.spec.rope import RopeSpec

Tensor = torch.Tensor
functional = torch.nn.functional

KV_BLOCK_TOKENS = 256  # the cache of a slot grows by so many positions


@dataclass(slots=True)
class KVSlot:
    """Rotated keys, and values, of one sequence: [cached layers, num_kv_heads, capacity, width].

    `states` are those of the linear layers, by the layer's index.
    """

    keys: Tensor
    values: Tensor
    states: dict[int, DeltaState] = field(default_factory=dict)

    @property
    def num_bytes(self) -> int:
        """Bytes held."""
        states = sum(state.num_bytes for state in self.states.values())
        return self.keys.nbytes + self.values.nbytes + states

    def reset(self, spec: ModelSpec) -> None:
        """Before a sequence's first token; what is cached by position is overwritten anyway."""
        if spec.delta_net is not None:
            linear = filter(spec.is_linear, range(spec.num_hidden_layers))
            self.states = {index: create_state(spec.delta_net) for index in linear}

    def grow(self, length: int, limit: int) -> None:
        """Makes room for `length` positions, in whole blocks, never above `limit`."""
        capacity = self.keys.shape[2]
        if length > capacity:
            wanted = min(-(-length // KV_BLOCK_TOKENS) * KV_BLOCK_TOKENS, limit)
            self.keys = functional.pad(self.keys, (0, 0, 0, wanted - capacity))
            self.values = functional.pad(self.values, (0, 0, 0, wanted - capacity))

    def write(self, layer: int, positions: Tensor, keys: Tensor, values: Tensor) -> None:
        """keys and values [num_kv_heads, n, width] at positions [n]."""
        self.keys[layer, :, positions] = keys
        self.values[layer, :, positions] = values

    def read(self, layer: int, end: int) -> tuple[Tensor, Tensor]:
        """Keys and values [num_kv_heads, end, width]."""
        return self.keys[layer, :, :end], self.values[layer, :, :end]


@dataclass(frozen=True, slots=True)
class Rotation:
    """cos and sin [n, rotary_dim / 2] of a chunk's positions."""

    cos: Tensor
    sin: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """Rotates column i with column i + rotary_dim / 2 (Hugging Face's pairs); x [heads, n, d].

        Columns from rotary_dim on stay as they are.
        """
        half = self.cos.shape[1]
        first, second, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
        rotated = (first * self.cos - second * self.sin, second * self.cos + first * self.sin)
        return torch.cat((*rotated, rest), dim=-1)


@dataclass(frozen=True, slots=True)
class ChunkContext:
    """A chunk's positions [n], their rotations by rope, and the cache of its sequence."""

    positions: Tensor
    rotations: dict[RopeSpec, Rotation]
    slot: KVSlot


def create_slot(spec: ModelSpec) -> KVSlot:
    """An empty one."""
    shape = (spec.num_cached_layers, spec.num_key_value_heads, 0)
    slot = KVSlot(torch.empty(*shape, spec.head_dim), torch.empty(*shape, spec.value_head_dim))
    slot.reset(spec)
    return slot


def create_rotation(rope: RopeSpec, positions: Tensor, max_model_len: int) -> Rotation:
    """The rotation of positions [n] in a context planned for `max_model_len`."""
    inv_freq = torch.from_numpy(rope.inverse_frequencies(max_model_len))
    angles = positions[:, None].float() * inv_freq
    return Rotation(angles.cos() * rope.cos_sin_factor, angles.sin() * rope.cos_sin_factor)
