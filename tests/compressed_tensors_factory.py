"""Packs tiny compressed-tensors checkpoints in plain NumPy, written from the layout's formulas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tests.gguf_factory import TinyModel

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class PackedLinear:
    """Unsigned codes [out, in], scales and zeros [out, G]; `zeros` None: symmetric."""

    codes: Array
    scales: Array
    zeros: Array | None
    bits: int
    g_idx: Array

    @property
    def weight(self) -> Array:
        """(q - z) * s in float32."""
        zeros = (
            np.full(self.scales.shape, 1 << (self.bits - 1)) if self.zeros is None else self.zeros
        )
        shifted = self.codes.astype(np.float32) - zeros.astype(np.float32)[:, self.g_idx]
        return shifted * self.scales.astype(np.float32)[:, self.g_idx]

    def tensors(self, *, padded: bool = False, zeros_as_int8: bool = False) -> dict[str, Array]:
        """The stored arrays; without `weight_g_idx`."""
        stored: dict[str, Array] = {
            "weight_packed": pack(self.codes, self.bits, padded=padded),
            "weight_scale": self.scales,
            "weight_shape": np.array(self.codes.shape, np.int64),
        }
        if self.zeros is not None and zeros_as_int8:
            stored["weight_zero_point"] = (self.zeros - (1 << (self.bits - 1))).astype(np.int8)
        elif self.zeros is not None:
            packed = pack(self.zeros.T, self.bits, padded=padded)
            stored["weight_zero_point"] = np.ascontiguousarray(packed.T)
        return stored


def random_packed(
    shape: tuple[int, int],
    bits: int = 4,
    group_size: int = 32,
    *,
    symmetric: bool = True,
    seed: int = 0,
) -> PackedLinear:
    """Random codes and zeros, bfloat16 scales of both signs, columns in order."""
    rng = np.random.default_rng(seed)
    groups = (shape[0], shape[1] // group_size)
    scales = rng.uniform(-0.02, 0.02, groups).astype(ml_dtypes.bfloat16)
    zeros = None if symmetric else rng.integers(0, 1 << bits, groups)
    codes = rng.integers(0, 1 << bits, shape)
    return PackedLinear(codes, scales, zeros, bits, np.arange(shape[1]) // group_size)


def shuffled(linear: PackedLinear, seed: int = 0) -> PackedLinear:
    """The same with columns in any order (actorder `group`)."""
    g_idx = np.random.default_rng(seed).permutation(linear.g_idx)
    return replace(linear, g_idx=g_idx)


def pack(codes: Array, bits: int, *, padded: bool = False) -> Array:
    """int32 [n, words]: a bitstream, or whole codes a word."""
    rows, count = codes.shape
    per_word = 32 // bits
    width = -(-count // per_word) if padded else -(-count * bits // 32)
    words = np.zeros((rows, width + 1), np.uint64)
    for k in range(count):
        word, shift = divmod(k, per_word) if padded else divmod(k * bits, 32)
        value = codes[:, k].astype(np.uint64) << np.uint64(shift * bits if padded else shift)
        words[:, word] |= value & np.uint64(0xFFFFFFFF)
        words[:, word + 1] |= value >> np.uint64(32)
    return np.ascontiguousarray(words[:, :width].astype(np.uint32)).view(np.int32)


def packed_tensors(
    model: TinyModel, create: Any
) -> tuple[dict[str, Array], dict[str, PackedLinear]]:
    """All tensors of a folder; `create` makes the linear of (stem, shape), None for a dense one."""
    tensors: dict[str, Array] = {}
    linears: dict[str, PackedLinear] = {}
    for name, weight in model.weights().items():
        stem = name if name == "lm_head" else f"model.{name}"
        linear = create(stem, weight.shape) if "_proj" in name else None
        if linear is None:
            tensors[f"{stem}.weight"] = weight.astype(ml_dtypes.bfloat16)
            continue
        linears[stem] = linear
        tensors |= prefixed(stem, linear.tensors())
    return tensors, linears


def prefixed(stem: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {f"{stem}.{name}": array for name, array in arrays.items()}


def declaration(
    bits: int = 4, group_size: int = 32, symmetric: bool = True, **changes: Any
) -> dict[str, Any]:
    """quantization_config with one group for all linears; `weights` merges into its arguments."""
    weights = {
        "num_bits": bits,
        "type": "int",
        "symmetric": symmetric,
        "strategy": "group",
        "group_size": group_size,
    } | changes.pop("weights", {})
    group = {"targets": ["Linear"], "weights": weights} | changes.pop("group", {})
    table = {
        "quant_method": "compressed-tensors",
        "format": "pack-quantized",
        "config_groups": {"group_0": group},
        "ignore": ["lm_head"],
        "version": "0.20.1",
    }
    return table | changes
