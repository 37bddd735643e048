"""What codes mean, worked out by hand; short groups, whole rows, permutations; what is refused."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.checkpoint.reference_quant import (
    dequantize,
    effective_scales,
    quantized_linear,
    select_rows,
    unpacked_codes,
)
from app.checkpoint.schemes import Linear, QuantScheme, ScaleDtype, Scheme
from app.core.errors import CheckpointError

SYM32 = QuantScheme(4, 32, Scheme.SYM, ScaleDtype.FP16)


def _ramp(rows: int, columns: int, low: int, high: int) -> npt.NDArray[np.int8]:
    return (np.arange(rows * columns).reshape(rows, columns) % (high - low) + low).astype(np.int8)


def _sym(
    rows: int, columns: int, quant: QuantScheme = SYM32, perm: npt.NDArray[np.int32] | None = None
) -> Linear:
    half = 1 << (quant.bits - 1)
    scales = np.linspace(-1, 2, rows * quant.num_groups(columns), dtype=np.float32).reshape(
        rows, -1
    )
    dtype = np.float32 if quant.scale_dtype is ScaleDtype.FP32 else np.float16
    return quantized_linear(
        quant, _ramp(rows, columns, -half, half), scales.astype(dtype), perm=perm
    )


def test_symmetric_is_code_times_scale() -> None:
    codes = np.array([[-8, -1, 0, 7] * 8], np.int8)
    linear = quantized_linear(SYM32, codes, np.array([[-0.5]], np.float16))
    assert dequantize(linear)[0, :4].tolist() == [4.0, 0.5, -0.0, -3.5]


def test_zero_points_are_subtracted_before_scaling() -> None:
    quant = QuantScheme(4, 32, Scheme.ZERO, ScaleDtype.FP32)
    codes = np.array([[0, 9, 15, 16 - 1] * 8], np.uint8)
    scales, zeros = (
        np.array([[0.25]], np.float32),
        np.array([[16]], np.uint8),
    )  # 16: one above the codes' range
    assert dequantize(quantized_linear(quant, codes, scales, zeros=zeros))[0, :3].tolist() == [
        -4.0,
        -1.75,
        -0.25,
    ]


def test_affine_rounds_the_product_before_adding() -> None:
    quant = QuantScheme(8, 32, Scheme.AFFINE, ScaleDtype.FP32)
    scale, bias = np.float32(1 / 3), np.float32(-85.0)
    linear = quantized_linear(
        quant, np.full((1, 32), 255, np.uint8), np.array([[scale]]), biases=np.array([[bias]])
    )
    product = np.float32(255) * scale
    fused = np.float32(255 * float(scale) + float(bias))
    assert dequantize(linear)[0, 0] == product + bias
    assert dequantize(linear)[0, 0] != fused  # so a fused multiply-add would be noticed


def test_two_level_scales_are_super_times_code() -> None:
    quant = QuantScheme(3, 128, Scheme.AFFINE, ScaleDtype.TWO_LEVEL)
    linear = quantized_linear(
        quant,
        np.ones((1, 512), np.uint8),
        np.array([[1, 2, 3, 4]], np.uint8),
        biases=np.array([[5, 6, 7, 8]], np.uint8),
        super_scales=np.array([[0.5, 0.25]], np.float16),
        super_biases=np.array([[-1.0, -2.0]], np.float16),
    )
    scales, biases = effective_scales(linear)
    assert scales.tolist() == [[0.5, 1.0, 0.75, 1.0]]
    assert biases is not None
    assert biases.tolist() == [[-5.0, -6.0, -14.0, -16.0]]
    assert dequantize(linear)[0, ::128].tolist() == [-4.5, -5.0, -13.25, -15.0]


@pytest.mark.parametrize("columns", [33, 40, 63, 95])
def test_the_last_group_may_be_short(columns: int) -> None:
    linear = _sym(3, columns)
    scales, _ = effective_scales(linear)
    wanted = unpacked_codes(linear) * np.repeat(scales, 32, axis=1)[:, :columns]
    assert np.array_equal(dequantize(linear), wanted)


def test_group_minus_one_is_one_scale_a_row() -> None:
    quant = QuantScheme(3, -1, Scheme.SYM, ScaleDtype.FP32)
    linear = _sym(4, 50, quant)
    assert linear.scales is not None
    assert linear.scales.shape == (4, 1)
    assert np.array_equal(dequantize(linear), unpacked_codes(linear) * linear.scales)


def test_perm_gives_each_stored_column_its_input() -> None:
    perm = np.random.default_rng(0).permutation(64).astype(np.int32)
    stored, weight = dequantize(_sym(3, 64)), dequantize(_sym(3, 64, perm=perm))
    assert all(np.array_equal(weight[:, perm[c]], stored[:, c]) for c in range(64))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_dense_weights_decode_to_their_values(dtype: type) -> None:
    weight = np.array([[1.5, -2.0], [0.0, 3.0]]).astype(dtype)
    assert dequantize(Linear((2, 2), weight=weight)).tolist() == [[1.5, -2.0], [0.0, 3.0]]


@settings(deadline=None)
@given(
    bits=st.sampled_from([3, 4, 8]),
    group=st.sampled_from([16, 32, 64, 128, -1]),
    rows=st.integers(1, 6),
    columns=st.integers(1, 300),
)
def test_any_shape_decodes_code_by_code(bits: int, group: int, rows: int, columns: int) -> None:
    linear = _sym(rows, columns, QuantScheme(bits, group, Scheme.SYM, ScaleDtype.FP16))
    assert linear.scales is not None
    width = columns if group == -1 else group
    of_column = np.arange(columns) // width
    wanted = (
        unpacked_codes(linear).astype(np.float32) * linear.scales.astype(np.float32)[:, of_column]
    )
    assert np.array_equal(dequantize(linear), wanted)


def test_rows_are_selected_without_decoding() -> None:
    linear = _sym(8, 64, perm=np.arange(64, dtype=np.int32)[::-1].copy())
    weight = dequantize(linear)
    order = np.array([5, 0, 5])
    assert np.array_equal(dequantize(select_rows(linear, order)), weight[order])
    part = select_rows(linear, slice(2, 4))
    assert part.shape == (2, 64)
    assert np.array_equal(dequantize(part), weight[2:4])
    assert part.packed is not None
    assert part.packed.base is not None  # a view


def test_large_weights_decode_in_chunks_to_the_same() -> None:
    linear = _sym(40, 32768)
    assert np.array_equal(dequantize(linear)[39:], dequantize(select_rows(linear, slice(39, 40))))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"scales": np.ones((2, 3), np.float16)},
            r"scales has shape \[2, 3\], its record needs \[2, 2\]",
        ),
        (
            {"scales": np.ones((2, 2), np.float64)},
            "scales has dtype float64, its record needs float16",
        ),
        (
            {"scales": np.full((2, 2), np.nan, np.float16)},
            "scales holds a value that is not finite",
        ),
        ({"zeros": np.ones((2, 2), np.uint8)}, "array zeros does not belong to its scheme"),
        ({"perm": np.zeros(64, np.int32)}, "perm is not a permutation"),
        ({"bias": np.ones(3, np.float32)}, "bias has shape"),
    ],
)
def test_arrays_that_do_not_fit_are_named(
    change: dict[str, npt.NDArray[np.generic]], words: str
) -> None:
    arguments = {"scales": np.ones((2, 2), np.float16)} | change
    with pytest.raises(CheckpointError, match=f"up_proj.*{words}"):
        quantized_linear(SYM32, _ramp(2, 64, -8, 8), name="up_proj", **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "arguments", [(5, 32, Scheme.SYM, ScaleDtype.FP16), (4, 48, Scheme.SYM, ScaleDtype.FP16)]
)
def test_schemes_that_do_not_exist_are_refused(
    arguments: tuple[int, int, Scheme, ScaleDtype],
) -> None:
    with pytest.raises(CheckpointError, match="not a native"):
        QuantScheme(*arguments)


def test_two_levels_need_a_group_size() -> None:
    with pytest.raises(CheckpointError, match="Two-level"):
        QuantScheme(4, -1, Scheme.SYM, ScaleDtype.TWO_LEVEL)
