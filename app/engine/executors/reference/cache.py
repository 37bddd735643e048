"""What is kept of one sequence, and what every layer needs to know of a chunk."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch

from app.engine.executors.block_tables import KV_PAGE_TOKENS, pages_for
from app.engine.executors.reference.delta_state import DeltaState, create_state
from app.spec.model_spec import ModelSpec
from app.spec.rope import RopeSpec

Tensor = torch.Tensor

_FLOAT_BYTES = 4


@dataclass(frozen=True, slots=True)
class KVPage:
    """Rotated keys, and values: [cached layers, num_kv_heads, KV_PAGE_TOKENS, width]."""

    keys: Tensor
    values: Tensor

    @property
    def num_bytes(self) -> int:
        """Bytes held."""
        return self.keys.nbytes + self.values.nbytes


class PagePool:
    """The pages that were reached so far, by their number."""

    def __init__(self, spec: ModelSpec) -> None:
        shape = (spec.num_cached_layers, spec.num_key_value_heads, KV_PAGE_TOKENS)
        self._key_shape = (*shape, spec.head_dim)
        self._value_shape = (*shape, spec.value_head_dim)
        self._pages: dict[int, KVPage] = {}

    @property
    def page_bytes(self) -> int:
        """Of one page."""
        return _FLOAT_BYTES * (math.prod(self._key_shape) + math.prod(self._value_shape))

    @property
    def num_bytes(self) -> int:
        """Bytes held."""
        return sum(page.num_bytes for page in self._pages.values())

    def page(self, index: int) -> KVPage:
        """Zeros at first."""
        if index not in self._pages:
            self._pages[index] = KVPage(
                torch.zeros(self._key_shape), torch.zeros(self._value_shape)
            )
        return self._pages[index]

    def copy(self, source: int, target: int) -> None:
        """Everything of a page."""
        page = self.page(source)
        self._pages[target] = KVPage(page.keys.clone(), page.values.clone())

    def read(self, index: int) -> npt.NDArray[np.uint8]:
        """[page_bytes]: keys, then values."""
        page = self.page(index)
        return to_bytes(page.keys, page.values)

    def write(self, index: int, data: npt.NDArray[np.uint8]) -> None:
        """Replaces a page by what `read` gave."""
        keys, values = from_bytes(data, self._key_shape, self._value_shape)
        self._pages[index] = KVPage(keys, values)


@dataclass(slots=True)
class KVSlot:
    """A sequence's pages from position 0 on, as far as a chunk needs them.

    `states` are those of the linear layers, by the layer's index.
    """

    pages: list[KVPage] = field(default_factory=list)
    states: dict[int, DeltaState] = field(default_factory=dict)

    @property
    def state_bytes(self) -> int:
        """Bytes of all states."""
        return sum(state.num_bytes for state in self.states.values())

    def reset(self, spec: ModelSpec) -> None:
        """Before a sequence's first token; what is cached by position is overwritten anyway."""
        if spec.delta_net is not None:
            linear = filter(spec.is_linear, range(spec.num_hidden_layers))
            self.states = {index: create_state(spec.delta_net) for index in linear}

    def read_states(self) -> npt.NDArray[np.uint8]:
        """All of them, layer by layer."""
        parts = ((state.window, state.matrices) for state in self.states.values())
        return to_bytes(*(tensor for pair in parts for tensor in pair))

    def write_states(self, data: npt.NDArray[np.uint8]) -> None:
        """Replaces them by what `read_states` gave."""
        shapes = [
            shape
            for state in self.states.values()
            for shape in (state.window.shape, state.matrices.shape)
        ]
        tensors = from_bytes(data, *shapes)
        pairs = zip(tensors[::2], tensors[1::2], strict=True)
        self.states = {
            index: DeltaState(*pair) for index, pair in zip(self.states, pairs, strict=True)
        }

    def write(self, layer: int, positions: Tensor, keys: Tensor, values: Tensor) -> None:
        """keys and values [num_kv_heads, n, width] at positions [n] that follow each other."""
        first, last = int(positions[0]) // KV_PAGE_TOKENS, int(positions[-1]) // KV_PAGE_TOKENS
        for index in range(first, last + 1):
            is_here = positions // KV_PAGE_TOKENS == index
            at, page = positions[is_here] % KV_PAGE_TOKENS, self.pages[index]
            page.keys[layer, :, at] = keys[:, is_here]
            page.values[layer, :, at] = values[:, is_here]

    def read(self, layer: int, end: int) -> tuple[Tensor, Tensor]:
        """Keys and values [num_kv_heads, end, width]."""
        pages = self.pages[: pages_for(end)]
        keys = torch.cat([page.keys[layer] for page in pages], dim=1)
        values = torch.cat([page.values[layer] for page in pages], dim=1)
        return keys[:, :end], values[:, :end]


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
    """Of a sequence that has not begun."""
    slot = KVSlot()
    slot.reset(spec)
    return slot


def to_bytes(*tensors: Tensor) -> npt.NDArray[np.uint8]:
    """One after the other; a copy."""
    parts = [np.ascontiguousarray(tensor.numpy()).reshape(-1).view(np.uint8) for tensor in tensors]
    return np.concatenate([np.empty(0, np.uint8), *parts])


def from_bytes(data: npt.NDArray[np.uint8], *shapes: Sequence[int]) -> list[Tensor]:
    """What `to_bytes` was given, float32; copies."""
    flat = torch.from_numpy(data.view(np.float32).copy())
    parts = torch.split(flat, [math.prod(shape) for shape in shapes])
    return [part.reshape(tuple(shape)) for part, shape in zip(parts, shapes, strict=True)]


def create_rotation(rope: RopeSpec, positions: Tensor, max_model_len: int) -> Rotation:
    """The rotation of positions [n] in a context planned for `max_model_len`."""
    inv_freq = torch.from_numpy(rope.inverse_frequencies(max_model_len))
    angles = positions[:, None].float() * inv_freq
    return Rotation(angles.cos() * rope.cos_sin_factor, angles.sin() * rope.cos_sin_factor)
