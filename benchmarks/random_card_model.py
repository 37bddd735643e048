"""Models of published shapes with random weights on a card: a layer is packed once, then repeated.

Random weights do: the work does not depend on them, and packing 7 billion takes minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from app.checkpoint.layout import linear_layout
from app.checkpoint.reader import Checkpoint
from app.checkpoint.schemes import Linear, QuantScheme
from app.engine.executors.cuda.executor import CudaExecutor, WeightsSource
from app.engine.executors.cuda.launcher import Allocator, Buffer, Launcher
from app.engine.executors.cuda.measure import MeasuringAllocator
from app.engine.executors.cuda.weights import DeviceWeights, WeightsLoader
from app.engine.memory_plan import grid_scheme
from app.spec.model_spec import ModelSpec
from app.spec.registry import create_spec
from app.spec.weights import has_bias, is_on_card, iter_linears, iter_vectors

Array = npt.NDArray[Any]
_SIZES = (
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "vocab_size",
)
_ALIGNMENT = 1 << 12  # of made-up addresses


@dataclass(frozen=True, slots=True)
class RandomModel:
    """`bits_of` a layer's linears, by its number; embeddings and lm_head have 8."""

    name: str
    config: Mapping[str, Any]
    bits_of: Callable[[int], int]

    @property
    def spec(self) -> ModelSpec:
        """What runs."""
        return create_spec(dict(self.config))


def create_config(family: str, sizes: tuple[int, ...], is_tied: bool) -> dict[str, Any]:
    """config.json of `llama` or `qwen2`; sizes in the order of `_SIZES`."""
    return {
        **dict(zip(_SIZES, sizes, strict=True)),
        "model_type": family,
        "architectures": [f"{family.capitalize()}ForCausalLM"],
        "tie_word_embeddings": is_tied,
        "max_position_embeddings": 32768,
        "rope_theta": 1e6,
        "rms_norm_eps": 1e-6,
        "hidden_act": "silu",
        "bos_token_id": 1,
        "eos_token_id": 2,
    }


def create_executor(
    model: RandomModel, launcher: Launcher, max_model_len: int, num_slots: int = 1
) -> CudaExecutor:
    """Raises ResourceError where the card is too small; the launcher is closed then."""
    spec = model.spec
    checkpoint = cast(Checkpoint, _RandomCheckpoint(model, spec))
    return CudaExecutor(
        checkpoint,
        spec,
        max_model_len,
        num_slots,
        launcher=launcher,
        load_weights=_load_repeated(model),
    )


class _RandomCheckpoint:
    """Linears as a conversion would store them, of random codes and equal scales."""

    def __init__(self, model: RandomModel, spec: ModelSpec) -> None:
        self._model, self._spec = model, spec
        self._shapes = dict(iter_linears(spec))
        self._vectors = dict(iter_vectors(spec))
        self._rng = np.random.default_rng(0)

    def linear(self, name: str) -> Linear:
        """As `Checkpoint.linear`."""
        layer = name.split(".")[1] if name.startswith("layers.") else ""
        shape = self._shapes[name]
        bits = self._model.bits_of(int(layer)) if layer else 8
        quant = grid_scheme(name, shape[1], bits)
        assert quant is not None  # no model that is drawn here has columns that no group divides
        arrays = {
            array: self._fill(array, layout.dtypes[0], layout.shape, quant)
            for array, layout in linear_layout(quant, shape).items()
            if layout.required or (array == "bias" and has_bias(self._spec, name))
        }
        return Linear(shape, quant, **arrays)

    def vector(self, name: str) -> Array:
        """As `Checkpoint.vector`: 1 everywhere."""
        return np.ones(self._vectors[name], np.float32)

    def _fill(
        self, name: str, dtype: np.dtype[Any], shape: tuple[int, ...], quant: QuantScheme
    ) -> Array:
        if name == "packed":
            return self._rng.integers(0, 256, shape, np.uint8)
        # So that a row's product keeps its input's size.
        scale = 2.0 ** (1 - quant.bits) / self._spec.hidden_size**0.5
        return np.full(shape, scale if name == "scales" else 0, dtype)


class _ArrayAllocator(MeasuringAllocator):
    """Keeps what is uploaded, by made-up addresses."""

    def __init__(self) -> None:
        super().__init__()
        self._next = _ALIGNMENT
        self.arrays: dict[int, Array] = {}

    def allocate(self, num_bytes: int) -> Buffer:
        """An address of its own."""
        buffer = Buffer(self._next, num_bytes)
        self._next += -(-(num_bytes + 1) // _ALIGNMENT) * _ALIGNMENT
        return buffer

    def allocate_host(self, num_bytes: int) -> Buffer:
        """Likewise."""
        return replace(self.allocate(num_bytes), is_on_host=True)

    def upload(self, array: Array, buffer: Buffer) -> None:
        """Keeps the array."""
        self.arrays[buffer.address] = array

    def realize(self, item: Any, allocator: Allocator) -> Any:
        """The same structure, its buffers on a real device."""
        if isinstance(item, Buffer):
            return self._realize_buffer(item, allocator)
        if is_dataclass(item) and not isinstance(item, type):
            made = {f.name: self.realize(getattr(item, f.name), allocator) for f in fields(item)}
            return replace(item, **made)
        if isinstance(item, list):
            return [self.realize(part, allocator) for part in item]
        if isinstance(item, dict):
            return {key: self.realize(part, allocator) for key, part in item.items()}
        return item

    def _realize_buffer(self, made_up: Buffer, allocator: Allocator) -> Buffer:
        allocate = allocator.allocate_host if made_up.is_on_host else allocator.allocate
        buffer = allocate(made_up.num_bytes)
        for address, array in self.arrays.items():
            behind = address - made_up.address
            if 0 <= behind < made_up.num_bytes:
                allocator.upload(array, buffer.skip(behind))
        return buffer


def _load_repeated(model: RandomModel) -> WeightsSource:
    def load(allocator: Allocator, checkpoint: Checkpoint, spec: ModelSpec) -> DeviceWeights:
        def once(part: Callable[[WeightsLoader], Any]) -> Any:
            """Packed, uploaded, forgotten."""
            arrays = _ArrayAllocator()
            return arrays.realize(part(WeightsLoader(arrays, checkpoint, spec)), allocator)

        on_host = not is_on_card(spec, "embed_tokens")
        embed_tokens = once(lambda loader: loader._matrix("embed_tokens", on_host))
        is_tied = spec.tie_word_embeddings
        lm_head = embed_tokens if is_tied else once(lambda loader: loader._matrix("lm_head"))
        templates: dict[int, tuple[_ArrayAllocator, Any]] = {}
        layers = []
        for index in range(spec.num_hidden_layers):
            bits = model.bits_of(index)
            if bits not in templates:
                arrays = _ArrayAllocator()
                layer = WeightsLoader(arrays, checkpoint, spec)._layer(index)
                templates[bits] = arrays, layer
            arrays, layer = templates[bits]
            layers.append(arrays.realize(layer, allocator))
        norm = once(lambda loader: loader._norm("norm"))
        return DeviceWeights(embed_tokens, layers, norm, lm_head)

    return load
