"""Writes GPTQ linears from the formulas: any width, layout, zero convention and column order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Arrays = dict[str, Array]
_PLANES = {3: (2, 1), 5: (4, 1), 6: (4, 2), 7: (4, 2, 1)}
DTYPES = {"F16": np.float16, "F32": np.float32, "BF16": ml_dtypes.bfloat16}


def pack_stream(codes: Array, bits: int) -> npt.NDArray[np.uint32]:
    """[rows, n] -> words [rows, ceil(n * bits / 32)], one bit after the other."""
    single = (codes[:, :, None].astype(np.uint32) >> np.arange(bits, dtype=np.uint32)) & 1
    stream = single.astype(np.uint8).reshape(codes.shape[0], -1)
    stream = np.pad(stream, ((0, 0), (0, -stream.shape[1] % 32)))
    return np.packbits(stream, axis=1, bitorder="little").view(np.uint32)


def pack_planes(codes: Array, bits: int) -> npt.NDArray[np.uint32]:
    """[rows, n] -> words [rows, n * bits / 32], planes of every 32 codes, lowest bits first."""
    pieces = []
    for unit in np.split(codes, codes.shape[1] // 32, axis=1):
        start = 0
        for width in _PLANES.get(bits, (bits,)):
            pieces.append(pack_stream((unit >> start) & ((1 << width) - 1), width))
            start += width
    return np.concatenate(pieces, axis=1)


@dataclass(frozen=True)
class GptqCase:
    """One linear [out, in]: true codes and zero points, and how they are to be written."""

    codes: Array  # [in, out]
    zeros: Array  # [G, out], the true ones
    scales: Array  # [G, out]
    g_idx: Array  # [in]
    bits: int = 4
    is_planar: bool = False
    less_one: bool = True

    @property
    def weight(self) -> npt.NDArray[np.float32]:
        """[out, in] by the formula, in float32."""
        scales = self.scales.astype(np.float32)[self.g_idx]
        difference = self.codes.astype(np.float32) - self.zeros.astype(np.float32)[self.g_idx]
        return np.ascontiguousarray((scales * difference).T)

    def arrays(self, *, with_g_idx: bool = True) -> Arrays:
        """The tensors by their last names."""
        pack = pack_planes if self.is_planar else pack_stream
        fields = (self.zeros.astype(np.int64) - self.less_one) & ((1 << self.bits) - 1)
        arrays = {
            "qweight": pack(np.ascontiguousarray(self.codes.T), self.bits).T,
            "qzeros": pack(fields, self.bits),
            "scales": self.scales,
        }
        arrays = {name: _signed(array) for name, array in arrays.items()}
        return arrays | ({"g_idx": self.g_idx.astype(np.int32)} if with_g_idx else {})


def random_case(
    shape: tuple[int, int],
    *,
    bits: int = 4,
    group_size: int = 32,
    sym: bool = True,
    act_order: bool = False,
    seed: int = 0,
    **how: Any,
) -> GptqCase:
    """Random codes, scales of both signs, zero points that every convention can store.

    The column order depends on the seed alone: linears of one seed share it.
    """
    rng = np.random.default_rng(seed)
    (out_features, in_features), width = shape, shape[1] if group_size < 0 else group_size
    groups, top = -(-in_features // width), 1 << bits
    zeros = np.full((groups, out_features), top // 2)
    if not sym:
        zeros = rng.integers(1, top - 1, (groups, out_features))
        zeros.flat[0], zeros.flat[-1] = 1, top - 2
    g_idx = np.arange(in_features) // width
    return GptqCase(
        codes=rng.integers(0, top, (in_features, out_features)),
        zeros=zeros,
        scales=(rng.standard_normal((groups, out_features)) * 0.02).astype(np.float16),
        g_idx=np.random.default_rng(seed).permutation(g_idx) if act_order else g_idx,
        bits=bits,
        **how,
    )


def _signed(array: Array) -> Array:
    words = array.view(np.int32) if array.dtype == np.uint32 else array
    return np.ascontiguousarray(words)
