"""The definition against the gguf package: blocks of known codes decode to the same bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
from gguf import GGMLQuantizationType as Ggml
from gguf import quants

from app.checkpoint.reference_quant import dequantize, quantized_linear
from app.checkpoint.schemes import Linear, QuantScheme, ScaleDtype, Scheme

ROWS, COLUMNS = 5, 768
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Case:
    linear: Linear
    blocks: Bytes  # [ROWS, block bytes of a row]


def _half(rng: np.random.Generator, blocks_per_row: int) -> npt.NDArray[np.float16]:
    """Both signs, ordinary, subnormal and zero values."""
    values = rng.normal(size=(ROWS, blocks_per_row)) * 10.0 ** rng.integers(
        -7, 1, (ROWS, blocks_per_row)
    )
    values[0, 0] = 0.0
    return values.astype(np.float16)


def _bytes(*columns: npt.NDArray[np.generic]) -> Bytes:
    """[ROWS, blocks, ...] pieces -> the rows' bytes, block by block."""
    flat = [np.ascontiguousarray(c).reshape(ROWS, c.shape[1], -1).view(np.uint8) for c in columns]
    return np.concatenate(flat, axis=-1).reshape(ROWS, -1)


def _nibble_halves(codes: Bytes) -> Bytes:
    """ggml's 4-bit order: a block's first half in low nibbles, its second half in high ones."""
    blocks = codes.reshape(ROWS, -1, 2, 16)
    return blocks[:, :, 0] | blocks[:, :, 1] << 4


def _codes(rng: np.random.Generator, limit: int) -> Bytes:
    return rng.integers(0, limit, (ROWS, COLUMNS), dtype=np.uint8)


def _q4_0(rng: np.random.Generator) -> Case:
    d, codes = _half(rng, COLUMNS // 32), _codes(rng, 16)
    quant = QuantScheme(4, 32, Scheme.SYM, ScaleDtype.FP16)
    linear = quantized_linear(quant, (codes.astype(np.int8) - 8).astype(np.int8), d)
    return Case(linear, _bytes(d[..., None], _nibble_halves(codes)))


def _q4_1(rng: np.random.Generator) -> Case:
    d, m, codes = _half(rng, COLUMNS // 32), _half(rng, COLUMNS // 32), _codes(rng, 16)
    quant = QuantScheme(4, 32, Scheme.AFFINE, ScaleDtype.FP16)
    linear = quantized_linear(quant, codes, d, biases=m)
    return Case(linear, _bytes(d[..., None], m[..., None], _nibble_halves(codes)))


def _q8_0(rng: np.random.Generator) -> Case:
    d, codes = _half(rng, COLUMNS // 32), _codes(rng, 256).view(np.int8)
    linear = quantized_linear(QuantScheme(8, 32, Scheme.SYM, ScaleDtype.FP16), codes, d)
    return Case(linear, _bytes(d[..., None], codes.reshape(ROWS, -1, 32)))


def _q4_k(rng: np.random.Generator) -> Case:
    d, dmin, codes = _half(rng, 3), _half(rng, 3), _codes(rng, 16)
    sc, m = (rng.integers(0, 64, (ROWS, 3, 8), dtype=np.uint8) for _ in range(2))
    low, high = slice(0, 4), slice(4, 8)
    scales = np.concatenate(
        [
            sc[..., low] | (sc[..., high] >> 4) << 6,
            m[..., low] | (m[..., high] >> 4) << 6,
            (sc[..., high] & 15) | m[..., high] << 4,
        ],
        axis=-1,
    )
    pairs = codes.reshape(ROWS, 3, 4, 2, 32)
    linear = quantized_linear(
        QuantScheme(4, 32, Scheme.AFFINE, ScaleDtype.TWO_LEVEL),
        codes,
        sc.reshape(ROWS, -1),
        biases=m.reshape(ROWS, -1),
        super_scales=d,
        super_biases=-dmin,
    )
    return Case(
        linear,
        _bytes(d[..., None], dmin[..., None], scales, pairs[..., 0, :] | pairs[..., 1, :] << 4),
    )


def _q6_k(rng: np.random.Generator) -> Case:
    d, codes = _half(rng, 3), _codes(rng, 64)
    scales = rng.integers(-128, 128, (ROWS, 3, 16)).astype(np.int8)
    # Halves of 128 columns, four runs of 32 each: ql has bits 0-3 (runs 0, 1 low; 2, 3 high).
    runs = codes.reshape(ROWS, 3, 2, 4, 32)
    ql = (runs[..., :2, :] & 15) | (runs[..., 2:, :] & 15) << 4
    qh = sum(((runs[..., i, :] >> 4) << 2 * i for i in range(4)), np.zeros_like(runs[..., 0, :]))
    linear = quantized_linear(
        QuantScheme(8, 16, Scheme.SYM, ScaleDtype.TWO_LEVEL),
        (codes.astype(np.int8) - 32).astype(np.int8),
        scales.reshape(ROWS, -1),
        super_scales=d,
    )
    return Case(linear, _bytes(ql, qh, scales, d[..., None]))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("ggml_type", "build"),
    [
        (Ggml.Q4_0, _q4_0),
        (Ggml.Q4_1, _q4_1),
        (Ggml.Q8_0, _q8_0),
        (Ggml.Q4_K, _q4_k),
        (Ggml.Q6_K, _q6_k),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_decodes_to_the_bits_of_the_gguf_package(
    ggml_type: Ggml, build: Callable[[np.random.Generator], Case], seed: int
) -> None:
    case = build(np.random.default_rng(seed))
    wanted = quants.dequantize(case.blocks, ggml_type)
    assert dequantize(case.linear).tobytes() == wanted.tobytes()
