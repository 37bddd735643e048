"""The semantics of `ModelSpec`, plain and readable: torch, float32, one layer after the other.

This module needs torch; only `executors.factory` imports it, and only when it is asked for.
Network as in transformers' `models/llama/modeling_llama.py` (qwen2, qwen3 and mistral differ by
biases, q/k norms and sliding windows, all of them fields of the spec).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch  # noqa: TID253 - this whole module is imported lazily

from app.checkpoint.reader import Checkpoint
from app.checkpoint.reference_quant import dequantize
from app.engine.executors.base import Executor, LogitsWanted, MemoryUse, SequenceChunk
from app.spec.model_spec import LayerType, ModelSpec
from app.spec.weights import num_parameters

Tensor = torch.Tensor
functional = torch.nn.functional

KV_BLOCK_TOKENS = 256  # the cache of a slot grows by so many positions


@dataclass(frozen=True, slots=True)
class _Linear:
    """weight [out, in], bias [out]."""

    weight: Tensor
    bias: Tensor | None

    def __call__(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.weight, self.bias)


@dataclass(frozen=True, slots=True)
class _Layer:
    """One decoder layer's weights; `window` is None where attention sees the whole past."""

    input_layernorm: Tensor
    q_proj: _Linear
    k_proj: _Linear
    v_proj: _Linear
    o_proj: _Linear
    q_norm: Tensor | None
    k_norm: Tensor | None
    post_attention_layernorm: Tensor
    gate_proj: _Linear
    up_proj: _Linear
    down_proj: _Linear
    window: int | None


@dataclass(slots=True)
class _KVSlot:
    """Rotated keys, and values, of one sequence: [num_layers, num_kv_heads, capacity, head_dim]."""

    keys: Tensor
    values: Tensor

    @property
    def num_bytes(self) -> int:
        return self.keys.nbytes + self.values.nbytes

    def grow(self, length: int, limit: int) -> None:
        """Makes room for `length` positions, in whole blocks, never above `limit`."""
        capacity = self.keys.shape[2]
        if length > capacity:
            wanted = min(-(-length // KV_BLOCK_TOKENS) * KV_BLOCK_TOKENS, limit)
            self.keys = functional.pad(self.keys, (0, 0, 0, wanted - capacity))
            self.values = functional.pad(self.values, (0, 0, 0, wanted - capacity))


@dataclass(slots=True)
class _Weights:
    embed_tokens: Tensor
    norm: Tensor
    lm_head: _Linear
    layers: list[_Layer] = field(default_factory=list)

    @property
    def num_bytes(self) -> int:
        return sum(t.nbytes for t in {t.data_ptr(): t for t in self._tensors()}.values())

    def _tensors(self) -> list[Tensor]:
        found = [self.embed_tokens, self.norm, self.lm_head.weight]
        for layer in self.layers:
            for name in _Layer.__slots__:
                value = getattr(layer, name)
                if isinstance(value, _Linear):
                    found += [value.weight] if value.bias is None else [value.weight, value.bias]
                elif isinstance(value, Tensor):
                    found.append(value)
        return found


class ReferenceExecutor(Executor):
    """Runs any checkpoint by decoding its weights to float32 once."""

    name = "reference"

    def __init__(
        self, checkpoint: Checkpoint, spec: ModelSpec, max_model_len: int, num_slots: int = 1
    ) -> None:
        super().__init__(checkpoint, spec, max_model_len, num_slots)
        self._weights = _load_weights(checkpoint, spec)
        self._inv_freq = torch.from_numpy(spec.rope.inverse_frequencies(max_model_len))
        shape = (spec.num_hidden_layers, spec.num_key_value_heads, 0, spec.head_dim)
        self._slots = [_KVSlot(torch.empty(shape), torch.empty(shape)) for _ in range(num_slots)]

    @classmethod
    def plan_weights_bytes(cls, checkpoint: Checkpoint, spec: ModelSpec) -> int:
        """Four bytes a weight, however they are stored."""
        return 4 * num_parameters(spec)

    def step(self, chunks: Sequence[SequenceChunk]) -> list[npt.NDArray[np.float32]]:
        """One chunk after the other; see `Executor.step`."""
        self.check_chunks(chunks)
        with torch.inference_mode():
            return [self._run(chunk) for chunk in chunks]

    def memory_use(self) -> MemoryUse:
        """Bytes of the decoded weights and of the cache as grown so far."""
        return MemoryUse(self._weights.num_bytes, sum(slot.num_bytes for slot in self._slots), 0)

    def close(self) -> None:
        """Drops every tensor."""
        del self._weights, self._slots

    def _run(self, chunk: SequenceChunk) -> npt.NDArray[np.float32]:
        slot = self._slots[chunk.slot]
        slot.grow(chunk.start + len(chunk.token_ids), self.max_model_len)
        positions = torch.arange(chunk.start, chunk.start + len(chunk.token_ids))
        rotation = self._rotation(positions)
        hidden = self._weights.embed_tokens[torch.from_numpy(chunk.token_ids.astype(np.int64))]
        for index, layer in enumerate(self._weights.layers):
            normed = self._norm(hidden, layer.input_layernorm)
            hidden = hidden + self._attention(index, layer, normed, positions, rotation, slot)
            normed = self._norm(hidden, layer.post_attention_layernorm)
            hidden = hidden + layer.down_proj(
                functional.silu(layer.gate_proj(normed)) * layer.up_proj(normed)
            )
        return self._logits(hidden, chunk.logits)

    def _logits(self, hidden: Tensor, wanted: LogitsWanted) -> npt.NDArray[np.float32]:
        first = {
            LogitsWanted.NONE: len(hidden),
            LogitsWanted.LAST: len(hidden) - 1,
            LogitsWanted.ALL: 0,
        }
        rows = self._norm(hidden[first[wanted] :], self._weights.norm)
        return np.asarray(self._weights.lm_head(rows).numpy(), dtype=np.float32)

    def _attention(
        self,
        index: int,
        layer: _Layer,
        x: Tensor,
        positions: Tensor,
        rotation: tuple[Tensor, Tensor],
        slot: _KVSlot,
    ) -> Tensor:
        """x [n, hidden_size] at `positions` [n] -> [n, hidden_size]; fills the slot."""
        start, end = int(positions[0]), int(positions[-1]) + 1
        queries, keys = self._heads(layer.q_proj(x)), self._heads(layer.k_proj(x))
        if layer.q_norm is not None and layer.k_norm is not None:
            queries, keys = self._norm(queries, layer.q_norm), self._norm(keys, layer.k_norm)
        slot.keys[index, :, start:end] = _rotate(keys, *rotation)
        slot.values[index, :, start:end] = self._heads(layer.v_proj(x))
        past = slot.keys[index, :, :end], slot.values[index, :, :end]
        mixed = self._attend(
            _rotate(queries, *rotation), *past, _mask(positions, end, layer.window)
        )
        return layer.o_proj(mixed)

    def _attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        """[num_heads, n, head_dim] over twice [num_kv_heads, m, head_dim] -> [n, q_size]."""
        num_heads, n, head_dim = queries.shape
        # The query heads of one key/value head stand together.
        grouped = queries.reshape(len(keys), -1, head_dim)
        scores = (grouped @ keys.transpose(1, 2)) * head_dim**-0.5
        scores = scores.reshape(num_heads, n, -1).masked_fill(~mask, float("-inf"))
        weights = scores.softmax(dim=-1).reshape(len(keys), -1, keys.shape[1])
        mixed: Tensor = weights @ values
        return mixed.reshape(num_heads, n, head_dim).transpose(0, 1).reshape(n, -1)

    def _heads(self, x: Tensor) -> Tensor:
        """[n, heads * head_dim] -> [heads, n, head_dim]."""
        return x.reshape(len(x), -1, self.spec.head_dim).transpose(0, 1)

    def _norm(self, x: Tensor, weight: Tensor) -> Tensor:
        """RMSNorm over the last axis."""
        mean_square = x.pow(2).mean(-1, keepdim=True)
        return weight * (x * torch.rsqrt(mean_square + self.spec.rms_norm_eps))

    def _rotation(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines [n, head_dim / 2], scaled by the rope type's attention factor."""
        angles = positions[:, None].float() * self._inv_freq
        scale = self.spec.rope.cos_sin_factor
        return angles.cos() * scale, angles.sin() * scale


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotates column i of each head with column i + head_dim / 2 (Hugging Face's pairs)."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


def _mask(positions: Tensor, end: int, window: int | None) -> Tensor:
    """[n, end], true where a query may look: not ahead, and at `window` keys, itself included."""
    distance = positions[:, None] - torch.arange(end)
    allowed = distance >= 0
    return allowed if window is None else allowed & (distance < window)


def _load_weights(checkpoint: Checkpoint, spec: ModelSpec) -> _Weights:
    embed_tokens = _load_linear(checkpoint, "embed_tokens")
    lm_head = embed_tokens if spec.tie_word_embeddings else _load_linear(checkpoint, "lm_head")
    weights = _Weights(embed_tokens.weight, _load_vector(checkpoint, "norm"), lm_head)
    weights.layers = [
        _load_layer(checkpoint, spec, index) for index in range(spec.num_hidden_layers)
    ]
    return weights


def _load_layer(checkpoint: Checkpoint, spec: ModelSpec, index: int) -> _Layer:
    def linear(name: str) -> _Linear:
        return _load_linear(checkpoint, f"layers.{index}.{name}")

    def vector(name: str) -> Tensor:
        return _load_vector(checkpoint, f"layers.{index}.{name}")

    return _Layer(
        input_layernorm=vector("input_layernorm"),
        q_proj=linear("self_attn.q_proj"),
        k_proj=linear("self_attn.k_proj"),
        v_proj=linear("self_attn.v_proj"),
        o_proj=linear("self_attn.o_proj"),
        q_norm=vector("self_attn.q_norm") if spec.qk_norm else None,
        k_norm=vector("self_attn.k_norm") if spec.qk_norm else None,
        post_attention_layernorm=vector("post_attention_layernorm"),
        gate_proj=linear("mlp.gate_proj"),
        up_proj=linear("mlp.up_proj"),
        down_proj=linear("mlp.down_proj"),
        window=spec.sliding_window if spec.layer_types[index] is LayerType.SLIDING else None,
    )


def _load_linear(checkpoint: Checkpoint, name: str) -> _Linear:
    linear = checkpoint.linear(name)
    bias = None if linear.bias is None else _to_tensor(linear.bias)
    return _Linear(_to_tensor(dequantize(linear)), bias)


def _load_vector(checkpoint: Checkpoint, name: str) -> Tensor:
    return _to_tensor(checkpoint.vector(name))


def _to_tensor(array: npt.NDArray[np.generic]) -> Tensor:
    """A float32 copy, so that no tensor keeps a file mapping open."""
    return torch.from_numpy(np.array(array, dtype=np.float32))
