"""Products whose every number is a small integer: they must come out bit for bit.

Scales are integers and activations have steps of 1, so that float32 rounds nothing (all sums stay
below 2^24) and a wrong code, zero point, lane or sum shows as itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from app.checkpoint.reference_quant import dequantize, quantized_linear
from app.checkpoint.schemes import Linear, QuantScheme, ScaleDtype, Scheme
from app.engine.executors.cpu_weights import PlannedLinear
from kernels import reference
from kernels.cpu.loader import instruction_sets
from kernels.cpu.native import Context, NativeLinear
from tests.kernels.cpu_linears import SIX_BIT_CODES, code_range
from tests.kernels.test_cpu_linear import SCHEMES, SIX_BIT_SCHEMES

NUM_ROWS = 17  # a whole tile and one row of the next
NUM_TOKENS = 9  # several tokens at a time and one alone
WIDTHS = (576, 896, 11008, 18944)  # SmolLM2's, Qwen2.5's and Llama's, none a power of two
LARGEST_SCALE = 3


def integer_linear(quant: QuantScheme, width: int, codes: tuple[int, int] | None = None) -> Linear:
    """Random codes, of `codes`' range or any; scales, zero points, biases are small integers."""
    rng = np.random.default_rng(width)
    low, high = codes or code_range(quant)
    signed = quant.scheme is Scheme.SYM
    shape = (NUM_ROWS, width)
    groups = (NUM_ROWS, quant.num_groups(width))
    two_level = quant.scale_dtype is ScaleDtype.TWO_LEVEL
    float_type = np.float16 if quant.scale_dtype is ScaleDtype.FP16 else np.float32
    value_type: Any = (np.int8 if signed else np.uint8) if two_level else float_type
    ones = np.ones((NUM_ROWS, quant.num_super_groups(width)), np.float16)
    optional: dict[str, Any] = {"super_scales": ones} if two_level else {}
    if quant.scheme is Scheme.ZERO:
        optional["zeros"] = rng.integers(0, high, groups, endpoint=True).astype(np.uint8)
    if quant.scheme is Scheme.AFFINE:
        optional["biases"] = rng.integers(0, 8, groups).astype(value_type)
        if two_level:
            optional["super_biases"] = -ones
    stored = rng.integers(low, high, shape, endpoint=True).astype(np.int8 if signed else np.uint8)
    scales = rng.integers(1, LARGEST_SCALE, groups, endpoint=True).astype(value_type)
    return quantized_linear(quant, stored, scales, **optional)


def integer_activations(width: int) -> npt.NDArray[np.float32]:
    """Integers of both signs; 127 or -127 stands in every 32 columns, so that the step is 1."""
    x = np.random.default_rng(0).integers(-127, 127, (NUM_TOKENS, width), endpoint=True)
    x[:, ::64], x[:, 32::64] = 127, -127
    return x.astype(np.float32)


@pytest.mark.parametrize("quant", SCHEMES, ids=lambda quant: f"{quant.label} {quant.scale_dtype}")
def test_integers_come_out_bit_for_bit(quant: QuantScheme) -> None:
    assert wrong_products(quant) == []


@pytest.mark.parametrize(
    "quant", SIX_BIT_SCHEMES, ids=lambda quant: f"{quant.label} {quant.scale_dtype}"
)
def test_integers_of_six_bits_come_out_bit_for_bit(quant: QuantScheme) -> None:
    assert wrong_products(quant, SIX_BIT_CODES) == []


def wrong_products(quant: QuantScheme, codes: tuple[int, int] | None = None) -> list[str]:
    """Instruction sets and widths that do not give float64's bits, for all tokens or for one."""
    contexts = [Context(1, name) for name in instruction_sets()]
    wrong = []
    for width in WIDTHS:
        linear, x = integer_linear(quant, width, codes), integer_activations(width)
        np.testing.assert_array_equal(reference.round_activations(x), x)
        expected = reference.linear(x.astype(np.float64), dequantize(linear).astype(np.float64))
        assert np.abs(expected).max() < 1 << 24
        for context in contexts:
            native = NativeLinear(context, PlannedLinear(linear, six_bits=codes is not None).source)
            y = native.apply(x, int8_activations=True)
            alone = native.apply(x[:1], int8_activations=True)
            native.close()
            if not (np.array_equal(y, expected) and np.array_equal(alone, expected[:1])):
                wrong.append(f"{context.instruction_set}, {width} columns")
    for context in contexts:
        context.close()
    return wrong
