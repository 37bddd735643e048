"""The semantics of `ModelSpec`, plain and readable: torch, float32, one layer after the other.

This module needs torch; only `executors.factory` imports it, and only when it is asked for.
Network as in transformers' `models/llama/modeling_llama.py` (qwen2, qwen3 and mistral differ by
biases, q/k norms and sliding windows, all of them fields of the spec).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True, slots=True)
class _Weights:
    """The whole network; embed_tokens [vocab_size, hidden_size] serves as `lm_head` when tied."""

    embed_tokens: Tensor
    layers: list[_Layer]
    norm: Tensor
    lm_head: _Linear
    num_bytes: int


@dataclass(frozen=True, slots=True)
class _Context:
    """What every layer needs to know of a chunk: positions [n], their rotation, their cache."""

    positions: Tensor
    cos: Tensor  # [n, head_dim / 2], as is sin
    sin: Tensor
    slot: _KVSlot


class ReferenceExecutor(Executor):
    """Runs any checkpoint by decoding its weights to float32 once."""

    name = "reference"

    def __init__(
        self, checkpoint: Checkpoint, spec: ModelSpec, max_model_len: int, num_slots: int = 1
    ) -> None:
        super().__init__(checkpoint, spec, max_model_len, num_slots)
        self._weights = _Loader(checkpoint, spec).load()
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
        context = self._create_context(chunk)
        hidden = self._weights.embed_tokens[torch.from_numpy(chunk.token_ids.astype(np.int64))]
        for index, layer in enumerate(self._weights.layers):
            x = self._norm(hidden, layer.input_layernorm)
            hidden = hidden + self._attention(index, layer, x, context)
            x = self._norm(hidden, layer.post_attention_layernorm)
            hidden = hidden + layer.down_proj(
                functional.silu(layer.gate_proj(x)) * layer.up_proj(x)
            )
        return self._logits(hidden, chunk.logits)

    def _create_context(self, chunk: SequenceChunk) -> _Context:
        end = chunk.start + len(chunk.token_ids)
        slot = self._slots[chunk.slot]
        slot.grow(end, self.max_model_len)
        positions = torch.arange(chunk.start, end)
        angles = positions[:, None].float() * self._inv_freq
        scale = self.spec.rope.cos_sin_factor
        return _Context(positions, angles.cos() * scale, angles.sin() * scale, slot)

    def _logits(self, hidden: Tensor, wanted: LogitsWanted) -> npt.NDArray[np.float32]:
        n = len(hidden)
        first = {LogitsWanted.NONE: n, LogitsWanted.LAST: n - 1, LogitsWanted.ALL: 0}[wanted]
        rows = self._norm(hidden[first:], self._weights.norm)
        return np.asarray(self._weights.lm_head(rows).numpy(), dtype=np.float32)

    def _attention(self, index: int, layer: _Layer, x: Tensor, context: _Context) -> Tensor:
        """x [n, hidden_size] -> [n, hidden_size]; writes keys and values of layer `index`."""
        slot, positions = context.slot, context.positions
        queries, keys = self._heads(layer.q_proj(x)), self._heads(layer.k_proj(x))
        if layer.q_norm is not None and layer.k_norm is not None:
            queries, keys = self._norm(queries, layer.q_norm), self._norm(keys, layer.k_norm)
        slot.keys[index, :, positions] = _rotate(keys, context)
        slot.values[index, :, positions] = self._heads(layer.v_proj(x))
        end = int(positions[-1]) + 1
        past = slot.keys[index, :, :end], slot.values[index, :, :end]
        mask = _mask(positions, end, layer.window)
        return layer.o_proj(self._attend(_rotate(queries, context), *past, mask))

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


def _rotate(x: Tensor, context: _Context) -> Tensor:
    """Rotates column i of each head with column i + head_dim / 2 (Hugging Face's pairs)."""
    first, second = x.chunk(2, dim=-1)
    cos, sin = context.cos, context.sin
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


def _mask(positions: Tensor, end: int, window: int | None) -> Tensor:
    """[n, end], true where a query may look: at no later key, and at `window` keys at most."""
    distance = positions[:, None] - torch.arange(end)
    allowed = distance >= 0
    return allowed if window is None else allowed & (distance < window)


class _Loader:
    """Copies a checkpoint's tensors as float32, so that none of them keeps a file mapping open."""

    def __init__(self, checkpoint: Checkpoint, spec: ModelSpec) -> None:
        self._checkpoint = checkpoint
        self._spec = spec
        self._num_bytes = 0

    def load(self) -> _Weights:
        spec = self._spec
        embed_tokens = self._linear("embed_tokens")
        layers = [self._layer(index) for index in range(spec.num_hidden_layers)]
        norm = self._vector("norm")
        lm_head = embed_tokens if spec.tie_word_embeddings else self._linear("lm_head")
        return _Weights(embed_tokens.weight, layers, norm, lm_head, self._num_bytes)

    def _layer(self, index: int) -> _Layer:
        spec, prefix = self._spec, f"layers.{index}"
        attention, mlp = f"{prefix}.self_attn", f"{prefix}.mlp"
        is_sliding = spec.layer_types[index] is LayerType.SLIDING
        return _Layer(
            input_layernorm=self._vector(f"{prefix}.input_layernorm"),
            q_proj=self._linear(f"{attention}.q_proj"),
            k_proj=self._linear(f"{attention}.k_proj"),
            v_proj=self._linear(f"{attention}.v_proj"),
            o_proj=self._linear(f"{attention}.o_proj"),
            q_norm=self._vector(f"{attention}.q_norm") if spec.qk_norm else None,
            k_norm=self._vector(f"{attention}.k_norm") if spec.qk_norm else None,
            post_attention_layernorm=self._vector(f"{prefix}.post_attention_layernorm"),
            gate_proj=self._linear(f"{mlp}.gate_proj"),
            up_proj=self._linear(f"{mlp}.up_proj"),
            down_proj=self._linear(f"{mlp}.down_proj"),
            window=spec.sliding_window if is_sliding else None,
        )

    def _linear(self, name: str) -> _Linear:
        linear = self._checkpoint.linear(name)
        bias = None if linear.bias is None else self._copy(linear.bias)
        return _Linear(self._count(torch.from_numpy(dequantize(linear))), bias)

    def _vector(self, name: str) -> Tensor:
        return self._copy(self._checkpoint.vector(name))

    def _copy(self, array: npt.NDArray[Any]) -> Tensor:
        return self._count(torch.from_numpy(np.array(array, dtype=np.float32)))

    def _count(self, tensor: Tensor) -> Tensor:
        self._num_bytes += tensor.nbytes
        return tensor
