"""Native matrix products against float64 on the decoded weights: every scheme, odd shapes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from app.checkpoint.reference_quant import dequantize, quantized_linear
from app.checkpoint.schemes import (
    ALLOWED_BITS,
    ALLOWED_GROUPS,
    Linear,
    QuantScheme,
    ScaleDtype,
    Scheme,
)
from app.engine.executors.cpu_weights import PlannedLinear
from kernels import reference
from kernels.cpu.loader import NativeError, instruction_sets
from kernels.cpu.native import Context, NativeLinear
from tests.kernels.cpu_linears import DENSE_DTYPES, SIX_BIT_CODES, dense_linear, random_linear

# Relative L2 error of y, float32 sums of up to 896 products; the worst measured is 7e-7.
TOLERANCE = 2e-6
SCHEMES = [
    QuantScheme(bits, group, scheme, scales)
    for bits, group, scheme, scales in itertools.product(
        ALLOWED_BITS, ALLOWED_GROUPS, Scheme, ScaleDtype
    )
    if not (scales is ScaleDtype.TWO_LEVEL and group == -1)
]
SIX_BIT_SCHEMES = [quant for quant in SCHEMES if (quant.bits, quant.scheme) == (8, Scheme.SYM)]
# Whole tiles; odd everything; a short last group; several blocks of columns; less than a tile.
SHAPES = [(32, 64), (17, 33), (48, 200), (16, 896), (5, 7)]


@pytest.fixture(params=instruction_sets())
def context(request: pytest.FixtureRequest) -> Iterator[Context]:
    """Two threads on every instruction set of this machine."""
    context = Context(num_threads=2, instruction_set=request.param)
    yield context
    context.close()


def relative_error(actual: npt.NDArray[np.float32], expected: npt.NDArray[np.float64]) -> float:
    """||actual - expected|| / ||expected||."""
    return float(np.linalg.norm(actual - expected) / np.linalg.norm(expected))


def _in_stored_order(linear: Linear, x: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """x as int8 activations, whose blocks of 32 are of the columns as they are stored."""
    if linear.perm is None:
        return reference.round_activations(x)
    seen = np.empty(x.shape)
    seen[:, linear.perm] = reference.round_activations(x[:, linear.perm])
    return seen


def products_error(
    context: Context, linear: Linear, int8_activations: bool = False, *, six_bits: bool = False
) -> float:
    """The larger of one row (straight from the codes) and 15 rows (through decoded blocks)."""
    errors = []
    native = NativeLinear(context, PlannedLinear(linear, six_bits=six_bits).source)
    weight = dequantize(linear).astype(np.float64)
    bias = None if linear.bias is None else linear.bias.astype(np.float64)
    for num_rows in (1, 15):
        x = np.random.default_rng(num_rows).standard_normal((num_rows, linear.shape[1]))
        x = x.astype(np.float32)
        seen = _in_stored_order(linear, x) if int8_activations else x.astype(np.float64)
        expected = reference.linear(seen, weight, bias)
        y = native.apply(x, int8_activations=int8_activations)
        errors.append(relative_error(y, expected))
    native.close()
    return float(np.max(errors))


@pytest.mark.parametrize("quant", SCHEMES, ids=lambda quant: f"{quant.label} {quant.scale_dtype}")
def test_product_of_every_scheme(context: Context, quant: QuantScheme) -> None:
    for seed, shape in enumerate(SHAPES):
        assert products_error(context, random_linear(quant, shape, seed)) < TOLERANCE


@pytest.mark.parametrize("quant", SCHEMES, ids=lambda quant: f"{quant.label} {quant.scale_dtype}")
def test_product_with_int8_activations(context: Context, quant: QuantScheme) -> None:
    """The integer part is exact, so the tolerance is that of float32 activations."""
    for seed, shape in enumerate(SHAPES):
        linear = random_linear(quant, shape, seed)
        assert products_error(context, linear, int8_activations=True) < TOLERANCE


def changed_by_company(context: Context, linear: Linear, *, int8_activations: bool) -> list[int]:
    """Numbers of rows at which they do not give the bits that each gives alone."""
    native = NativeLinear(context, PlannedLinear(linear).source)
    x = np.random.default_rng(1).standard_normal((29, 300)).astype(np.float32)
    options = {"int8_activations": int8_activations}
    alone = np.concatenate([native.apply(row[None], **options) for row in x])
    changed = [
        num_rows
        for num_rows in (2, 3, 4, 5, 7, 8, 9, 29)
        if not np.array_equal(native.apply(x[:num_rows], **options), alone[:num_rows])
    ]
    native.close()
    return changed


@pytest.mark.parametrize("int8_activations", [False, True])
@pytest.mark.parametrize("quant", SCHEMES, ids=lambda quant: f"{quant.label} {quant.scale_dtype}")
def test_rows_do_not_depend_on_their_company(
    context: Context, quant: QuantScheme, int8_activations: bool
) -> None:
    linear = random_linear(quant, (33, 300))
    assert changed_by_company(context, linear, int8_activations=int8_activations) == []


@pytest.mark.parametrize("dtype", DENSE_DTYPES)
def test_dense_rows_do_not_depend_on_their_company(context: Context, dtype: str) -> None:
    assert changed_by_company(context, dense_linear(dtype, (33, 300)), int8_activations=False) == []


def test_the_largest_int8_sums_do_not_overflow(context: Context) -> None:
    quant = QuantScheme(8, -1, Scheme.ZERO, ScaleDtype.FP32)
    codes = np.full((16, 896), 255, np.uint8)
    zeros, scales = np.zeros((16, 1), np.uint8), np.ones((16, 1), np.float32)
    native = NativeLinear(
        context, PlannedLinear(quantized_linear(quant, codes, scales, zeros=zeros)).source
    )
    for sign in (1, -1):
        x = np.full((1, 896), sign, np.float32)
        np.testing.assert_allclose(
            native.apply(x, int8_activations=True), sign * 255 * 896, rtol=1e-6
        )
    native.close()


@pytest.mark.parametrize("dtype", DENSE_DTYPES)
def test_product_of_dense_weights(context: Context, dtype: str) -> None:
    for seed, shape in enumerate(SHAPES):
        assert products_error(context, dense_linear(dtype, shape, seed)) < TOLERANCE


def test_permuted_columns_and_bias(context: Context) -> None:
    quant = QuantScheme(4, 128, Scheme.ZERO, ScaleDtype.FP16)
    linear = random_linear(quant, (40, 300), with_perm=True, with_bias=True)
    assert products_error(context, linear) < TOLERANCE
    assert products_error(context, linear, int8_activations=True) < TOLERANCE


@pytest.mark.parametrize("quant", SCHEMES, ids=lambda quant: f"{quant.label} {quant.scale_dtype}")
def test_rows_decode_bit_for_bit(context: Context, quant: QuantScheme) -> None:
    linear = random_linear(quant, (19, 300))
    native = NativeLinear(context, PlannedLinear(linear).source)
    rows = np.stack([native.row(index) for index in range(19)])
    native.close()
    np.testing.assert_array_equal(rows, dequantize(linear))


def check_same_bits(context: Context, linear: Linear) -> None:
    """With six bits and with eight: fewer bytes, the same rows and products."""
    small, large = (
        NativeLinear(context, PlannedLinear(linear, six_bits=six_bits).source)
        for six_bits in (True, False)
    )
    # Two bits a code, of whole tiles and steps.
    num_codes = -(-linear.shape[0] // 16) * 16 * -(-linear.shape[1] // 32) * 32
    assert large.num_bytes - small.num_bytes == num_codes // 4
    for index in range(linear.shape[0]):
        np.testing.assert_array_equal(small.row(index), large.row(index))
    x = np.random.default_rng(1).standard_normal((29, linear.shape[1])).astype(np.float32)
    for num_rows, int8 in itertools.product((*range(1, 10), 29), (False, True)):
        pair = (tiles.apply(x[:num_rows], int8_activations=int8) for tiles in (small, large))
        np.testing.assert_array_equal(*pair)
    small.close()
    large.close()


@pytest.mark.parametrize(
    "quant", SIX_BIT_SCHEMES, ids=lambda quant: f"{quant.label} {quant.scale_dtype}"
)
def test_six_bits_give_the_bits_of_eight(context: Context, quant: QuantScheme) -> None:
    for seed, shape in enumerate(SHAPES):
        linear = random_linear(quant, shape, seed, codes=SIX_BIT_CODES, with_perm=True)
        check_same_bits(context, linear)
        assert products_error(context, linear, int8_activations=True, six_bits=True) < TOLERANCE


@pytest.mark.parametrize("code", [-128, -33, 32, 64, 127])
def test_one_larger_code_keeps_eight_bits(context: Context, code: int) -> None:
    """Wherever it stands: at the end, in the middle of a word, in a late piece."""
    quant = QuantScheme(8, 32, Scheme.SYM, ScaleDtype.FP16)
    for row, column in ((0, 0), (18, 4402), (7, 3)):
        codes = np.full((19, 4403), -32, np.int8)
        codes[row, column] = code
        scales = np.ones((19, quant.num_groups(4403)), np.float16)
        linear = quantized_linear(quant, codes, scales)
        native = NativeLinear(context, PlannedLinear(linear, six_bits=True).source)
        np.testing.assert_array_equal(native.row(row), dequantize(linear)[row])
        assert native.num_bytes > linear.num_bytes
        native.close()


@pytest.mark.parametrize("num_threads", [1, 2, 3, 7])
def test_thread_count_changes_no_bit(num_threads: int) -> None:
    linear = random_linear(QuantScheme(4, 32, Scheme.AFFINE, ScaleDtype.FP16), (200, 576))
    x = np.random.default_rng(0).standard_normal((3, 576)).astype(np.float32)
    results = []
    for threads in (1, num_threads):
        context = Context(threads)
        native = NativeLinear(context, PlannedLinear(linear).source)
        results.append([native.apply(x), native.apply(x[:1])])
        native.close()
        context.close()
    for alone, together in zip(*results, strict=True):
        np.testing.assert_array_equal(alone, together)


def test_memory_is_about_the_checkpoint(context: Context) -> None:
    linear = random_linear(QuantScheme(3, 64, Scheme.AFFINE, ScaleDtype.TWO_LEVEL), (512, 1024))
    native = NativeLinear(context, PlannedLinear(linear).source)
    assert linear.num_bytes <= native.num_bytes <= 1.01 * linear.num_bytes
    native.close()


def test_wrong_inputs_are_refused(context: Context) -> None:
    linear = random_linear(QuantScheme(4, 32, Scheme.SYM, ScaleDtype.FP16), (16, 64))
    native = NativeLinear(context, PlannedLinear(linear).source)
    x = np.zeros((4, 64), np.float32)
    with pytest.raises(ValueError, match="contiguous"):
        native.apply(np.asfortranarray(np.zeros((4, 64), np.float32)))
    with pytest.raises(ValueError, match="aligned"):
        native.apply(np.zeros(4 * 64 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(4, 64))
    with pytest.raises(ValueError, match="float32"):
        native.apply(x[:, :32])
    with pytest.raises(NativeError, match="row"):
        native.row(16)
    native.close()


def test_unaligned_weights_are_copied_first(context: Context) -> None:
    linear = random_linear(QuantScheme(4, 32, Scheme.SYM, ScaleDtype.FP16), (16, 64))
    assert linear.scales is not None
    shifted = np.zeros(linear.scales.nbytes + 1, np.uint8)[1:].view(np.float16)
    shifted[:] = linear.scales.reshape(-1)
    moved = replace(linear, scales=shifted.reshape(linear.scales.shape))
    assert moved.scales is not None
    assert not moved.scales.flags.aligned
    assert products_error(context, moved) < TOLERANCE


def test_source_without_its_scales_is_refused(context: Context) -> None:
    planned = PlannedLinear(random_linear(SCHEMES[0], (16, 64)))
    planned.source.scales = None
    with pytest.raises(NativeError, match="scales"):
        NativeLinear(context, planned.source)


def test_unknown_instruction_set_is_refused() -> None:
    with pytest.raises(NativeError, match="avx1024"):
        Context(1, "avx1024")
