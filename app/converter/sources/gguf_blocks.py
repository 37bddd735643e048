"""ggml blocks -> arrays of the native schemes, codes and scales as the source has them.

Block layouts: ggml-org/llama.cpp:ggml/src/ggml-common.h and dequantize_row_* in ggml-quants.c;
gguf.quants decodes the same blocks in NumPy and is the oracle of the tests. Codes come from
`gguf_codes`, scales from here, out of blocks uint8 [rows, blocks, bytes].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from app.checkpoint.schemes import QuantScheme, ScaleDtype, Scheme
from app.converter.sources.gguf_codes import unpack_codes

Bytes = npt.NDArray[np.uint8]
Arrays = dict[str, npt.NDArray[Any]]  # by the field names of app.checkpoint.schemes.Linear


@dataclass(frozen=True, slots=True)
class NativeType:
    """A ggml type that a native scheme holds bit for bit, and where its blocks' scales stand."""

    name: str
    quant: QuantScheme
    block_columns: int
    extract_scales: Callable[[Bytes], Arrays]

    def extract(self, blocks: Bytes) -> Arrays:
        """Everything that a Linear of this scheme has."""
        packed_bytes = self.quant.row_bytes(self.block_columns)
        packed = unpack_codes(self.name, blocks, packed_bytes)
        return {"packed": packed, **self.extract_scales(blocks)}


def _float16(blocks: Bytes, start: int) -> npt.NDArray[np.float16]:
    """The fp16 at byte `start` of each block: [rows, blocks]."""
    return np.ascontiguousarray(blocks[..., start : start + 2]).view(np.float16)[..., 0]


def _rows(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """[rows, blocks, ...] -> [rows, everything]."""
    return values.reshape(values.shape[0], -1)


def _scale_at(start: int) -> Callable[[Bytes], Arrays]:
    """One fp16 a block."""
    return lambda blocks: {"scales": _float16(blocks, start)}


def _scale_and_bias(blocks: Bytes) -> Arrays:
    return {"scales": _float16(blocks, 0), "biases": _float16(blocks, 2)}


def _q2_k(blocks: Bytes) -> Arrays:
    return {
        "scales": _rows(blocks[..., :16] & np.uint8(15)),
        "biases": _rows(blocks[..., :16] >> np.uint8(4)),
        "super_scales": _float16(blocks, 80),
        "super_biases": -_float16(blocks, 82),
    }


def _q3_k(blocks: Bytes) -> Arrays:
    scales = _q3_k_scales(blocks[..., 96:108]).view(np.int8) - np.int8(32)
    return {"scales": _rows(scales), "super_scales": _float16(blocks, 108)}


def _q3_k_scales(packed: Bytes) -> Bytes:
    """Sixteen 6-bit scales: low nibbles in bytes 0-7, high pairs of bits in bytes 8-11.

    Four at a time, as one word.
    """
    words = np.ascontiguousarray(packed).view(np.uint32)
    scales = np.empty((*words.shape[:-1], 4), np.uint32)
    for index in range(4):
        nibbles = (words[..., index % 2] >> np.uint32(index // 2 * 4)) & np.uint32(0x0F0F0F0F)
        pairs = (words[..., 2] >> np.uint32(2 * index)) & np.uint32(0x03030303)
        scales[..., index] = nibbles | pairs << np.uint32(4)
    return scales.view(np.uint8)


def _q4_k_scales(blocks: Bytes) -> Arrays:
    """Q4_K and Q5_K: d, dmin, then eight 6-bit scales and eight 6-bit minima in twelve bytes."""
    first, second, third = (blocks[..., start : start + 4] for start in (4, 8, 12))
    scales = [first & 63, (third & 15) | ((first >> 2) & 0x30)]
    minima = [second & 63, (third >> 4) | ((second >> 2) & 0x30)]
    return {
        "scales": _rows(np.concatenate(scales, axis=-1)),
        "biases": _rows(np.concatenate(minima, axis=-1)),
        "super_scales": _float16(blocks, 0),
        "super_biases": -_float16(blocks, 2),
    }


def _q6_k(blocks: Bytes) -> Arrays:
    scales = np.ascontiguousarray(blocks[..., 192:208]).view(np.int8)
    return {"scales": _rows(scales), "super_scales": _float16(blocks, 208)}


def _iq4_xs(blocks: Bytes) -> Arrays:
    high = np.ascontiguousarray(blocks[..., 2:4]).view(np.uint16) >> np.arange(
        0, 16, 2, dtype=np.uint16
    )
    nibbles = np.stack([blocks[..., 4:8] & np.uint8(15), blocks[..., 4:8] >> np.uint8(4)], axis=-1)
    codes = nibbles.reshape(high.shape) | ((high.astype(np.uint8) & 3) << np.uint8(4))
    scales = codes.view(np.int8) - np.int8(32)
    return {"scales": _rows(scales), "super_scales": _float16(blocks, 0)}


# 2 ** (e - 128): half of the e8m0 scale, because the table of values is doubled.
_MXFP4_SCALES = np.ldexp(np.float32(1), np.arange(256) - 128)


def _mxfp4(blocks: Bytes) -> Arrays:
    return {"scales": _MXFP4_SCALES[blocks[..., 0]]}


def _ternary_scale(start: int) -> Callable[[Bytes], Arrays]:
    """One fp16 per 256 columns, stored once for each of two groups of 128."""
    return lambda blocks: {"scales": np.repeat(_float16(blocks, start), 2, axis=1)}


_SYM, _AFFINE = Scheme.SYM, Scheme.AFFINE
_FP16, _FP32, _TWO_LEVEL = ScaleDtype.FP16, ScaleDtype.FP32, ScaleDtype.TWO_LEVEL
_TYPES = (
    NativeType("Q4_0", QuantScheme(4, 32, _SYM, _FP16), 32, _scale_at(0)),
    NativeType("Q4_1", QuantScheme(4, 32, _AFFINE, _FP16), 32, _scale_and_bias),
    NativeType("Q5_0", QuantScheme(8, 32, _SYM, _FP16), 32, _scale_at(0)),
    NativeType("Q5_1", QuantScheme(8, 32, _AFFINE, _FP16), 32, _scale_and_bias),
    NativeType("Q8_0", QuantScheme(8, 32, _SYM, _FP16), 32, _scale_at(0)),
    NativeType("Q2_K", QuantScheme(3, 16, _AFFINE, _TWO_LEVEL), 256, _q2_k),
    NativeType("Q3_K", QuantScheme(3, 16, _SYM, _TWO_LEVEL), 256, _q3_k),
    NativeType("Q4_K", QuantScheme(4, 32, _AFFINE, _TWO_LEVEL), 256, _q4_k_scales),
    NativeType("Q5_K", QuantScheme(8, 32, _AFFINE, _TWO_LEVEL), 256, _q4_k_scales),
    NativeType("Q6_K", QuantScheme(8, 16, _SYM, _TWO_LEVEL), 256, _q6_k),
    NativeType("IQ4_NL", QuantScheme(8, 32, _SYM, _FP16), 32, _scale_at(0)),
    NativeType("IQ4_XS", QuantScheme(8, 32, _SYM, _TWO_LEVEL), 256, _iq4_xs),
    NativeType("MXFP4", QuantScheme(8, 32, _SYM, _FP32), 32, _mxfp4),
    NativeType("TQ1_0", QuantScheme(3, 128, _SYM, _FP16), 256, _ternary_scale(52)),
    NativeType("TQ2_0", QuantScheme(3, 128, _SYM, _FP16), 256, _ternary_scale(64)),
)
NATIVE_TYPES = {native.name: native for native in _TYPES}
