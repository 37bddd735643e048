"""Which path each tensor takes, and what it costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from app.checkpoint.layout import check_linear
from app.checkpoint.reference_quant import dequantize, quantized_linear
from app.checkpoint.schemes import Linear, QuantScheme, ScaleDtype, Scheme, TensorPath
from app.checkpoint.writer import StreamedLinear
from app.converter.grids import (
    ConvertedLinear,
    Grid,
    convert_linear,
    plan_linear,
    planned_bytes,
    resolve_grid,
)
from app.converter.sources.base import SourceLinear
from app.core.errors import InvalidSourceError, UsageError

Q4_0 = QuantScheme(4, 32, Scheme.SYM, ScaleDtype.FP16)
Q4_1 = QuantScheme(4, 32, Scheme.AFFINE, ScaleDtype.FP16)


def _never() -> Any:
    raise AssertionError("must not be read")


def _source(
    shape: tuple[int, int],
    *,
    source_type: str = "BF16",
    native: Linear | None = None,
    dense: Callable[[], npt.NDArray[np.float32]] | None = None,
    raw: npt.NDArray[Any] | None = None,
    bias: npt.NDArray[Any] | None = None,
) -> SourceLinear:
    if raw is not None:
        dense = partial(raw.astype, np.float32)
    elif dense is None and native is not None:
        dense = partial(dequantize, native)
    return SourceLinear(
        name="layers.0.mlp.up_proj",
        shape=shape,
        source_name="blk.0.ffn_up.weight",
        source_type=source_type,
        source_bytes=shape[0] * shape[1] * (2 if raw is None else raw.itemsize),
        is_quantized=raw is None,
        native=None if native is None else native.quant,
        load_native=_never if native is None else lambda: native,
        load_dense=dense or _never,
        load_bias=None if bias is None else lambda: bias,
    )


def _gauss(shape: tuple[int, int], seed: int = 0, std: float = 0.02) -> npt.NDArray[np.float32]:
    return np.random.default_rng(seed).normal(0, std, shape).astype(np.float32)


def _dense_source(shape: tuple[int, int], dtype: type = np.float32, **kwargs: Any) -> SourceLinear:
    names = {np.float32: "F32", np.float16: "F16", ml_dtypes.bfloat16: "BF16"}
    return _source(shape, source_type=names[dtype], raw=_gauss(shape, **kwargs).astype(dtype))


def _sym_linear(rows: int = 8, columns: int = 256) -> Linear:
    rng = np.random.default_rng(1)
    scales = rng.normal(size=(rows, columns // 32)).astype(np.float16)
    return quantized_linear(Q4_0, rng.integers(-8, 8, (rows, columns)).astype(np.int8), scales)


def _convert(source: SourceLinear, grid: Grid, group_size: int = 128) -> ConvertedLinear:
    """Converted, and read where it would only be read when it is written."""
    converted = convert_linear(source, plan_linear(source, grid, group_size))
    if isinstance(converted.linear, StreamedLinear):
        blocks = list(converted.linear.iter_weight())
        assert all(block.dtype == converted.linear.dtype for block in blocks)
        weight = Linear(source.shape, weight=np.concatenate(blocks), bias=converted.linear.bias)
        converted = converted._replace(linear=weight)
    check_linear(source.name, _linear(converted))
    return converted


def _linear(converted: ConvertedLinear) -> Linear:
    assert isinstance(converted.linear, Linear)
    return converted.linear


def test_auto_is_exact_for_quantized_sources_and_w4_for_dense_ones() -> None:
    assert resolve_grid(Grid.AUTO, source_is_quantized=True) is Grid.EXACT
    assert resolve_grid(Grid.AUTO, source_is_quantized=False) is Grid.W4
    assert resolve_grid(Grid.W3, source_is_quantized=True) is Grid.W3


def test_exact_takes_the_native_arrays_as_they_are() -> None:
    native = _sym_linear()
    converted = _convert(_source((8, 256), source_type="Q4_0", native=native), Grid.EXACT)
    assert converted == (native, TensorPath.EXACT, 0.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("grid", [Grid.EXACT, Grid.DENSE])
def test_float_tensors_keep_their_dtype(dtype: type, grid: Grid) -> None:
    source = _dense_source((4, 64), dtype)
    converted = _convert(source, grid)
    assert (converted.path, converted.rel_err) == (TensorPath.DENSE, 0.0)
    assert _linear(converted).weight is not None
    assert _linear(converted).weight.dtype == dtype
    assert planned_bytes(source, plan_linear(source, grid)) == _linear(converted).num_bytes


def test_dense_decodes_quantized_tensors() -> None:
    native = _sym_linear()
    source = _source((8, 256), native=native, dense=lambda: dequantize(native))
    converted = _convert(source, Grid.DENSE)
    assert converted.path is TensorPath.DENSE
    assert np.array_equal(dequantize(_linear(converted)), dequantize(native))
    assert planned_bytes(source, plan_linear(source, Grid.DENSE)) == _linear(converted).num_bytes


def test_exact_without_a_native_scheme_falls_back_to_int8_and_says_so() -> None:
    weights = _gauss((8, 256))
    source = _source((8, 256), source_type="IQ2_XXS", dense=lambda: weights)
    plan = plan_linear(source, Grid.EXACT)
    assert plan.reason == "no native scheme holds IQ2_XXS: int8 sym g32"
    converted = convert_linear(source, plan)
    assert converted.path is TensorPath.REQUANT
    assert 0.002 < converted.rel_err < 0.007
    wanted = np.linalg.norm(dequantize(_linear(converted)) - weights) / np.linalg.norm(weights)
    assert converted.rel_err == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize(
    ("grid", "bits", "low", "high"),
    [(Grid.W4, 4, 0.09, 0.10), (Grid.W3, 3, 0.17, 0.19), (Grid.W8, 8, 0.005, 0.007)],
)
def test_targets(grid: Grid, bits: int, low: float, high: float) -> None:
    source = _dense_source((16, 512))
    converted = _convert(source, grid)
    assert _linear(converted).quant == QuantScheme(bits, 128, Scheme.SYM, ScaleDtype.FP16)
    assert converted.path is TensorPath.REQUANT
    assert low < converted.rel_err < high
    assert planned_bytes(source, plan_linear(source, grid)) == _linear(converted).num_bytes


@pytest.mark.parametrize(
    ("columns", "asked", "group"), [(576, 128, 64), (96, 128, 32), (48, 64, 16), (512, 32, 32)]
)
def test_group_size_falls_back_to_one_that_divides(columns: int, asked: int, group: int) -> None:
    source = _dense_source((4, columns))
    plan = plan_linear(source, Grid.W4, asked)
    assert plan.quant is not None
    assert plan.quant.group_size == group
    if asked != group:
        assert plan.reason.startswith(f"{columns} columns are not a multiple of {asked}")
    assert _linear(_convert(source, Grid.W4, asked)).quant == plan.quant


def test_columns_that_no_group_divides_stay_dense() -> None:
    source = _dense_source((4, 50))
    plan = plan_linear(source, Grid.W4)
    assert (plan.path, plan.reason) == (TensorPath.DENSE, "no group size divides its columns")
    assert _convert(source, Grid.W4).path is TensorPath.DENSE


def test_a_source_on_the_target_grid_is_kept() -> None:
    source = _source((8, 256), source_type="Q4_0", native=_sym_linear())
    assert _convert(source, Grid.W4, 32).path is TensorPath.EXACT
    assert _convert(source, Grid.W4, 64).path is TensorPath.REQUANT


def test_the_source_scale_makes_requantization_exact_where_it_can_be() -> None:
    """A source whose zero points are all 8 lies on the symmetric grid, with its own scales."""
    rng = np.random.default_rng(0)
    quant = QuantScheme(4, 128, Scheme.ZERO, ScaleDtype.FP16)
    native = quantized_linear(
        quant,
        rng.integers(0, 16, (8, 256)).astype(np.uint8),
        rng.normal(size=(8, 2)).astype(np.float16),
        zeros=np.full((8, 2), 8, np.uint8),
    )
    converted = _convert(_source((8, 256), source_type="AWQ", native=native), Grid.W4, 64)
    assert converted.rel_err == 0.0
    assert np.array_equal(dequantize(_linear(converted)), dequantize(native))


def test_an_affine_source_costs_what_the_search_finds() -> None:
    rng = np.random.default_rng(0)
    native = quantized_linear(
        Q4_1,
        rng.integers(0, 16, (64, 256)).astype(np.uint8),
        np.full((64, 8), 0.01, np.float16),
        biases=np.full((64, 8), -0.075, np.float16),
    )
    converted = _convert(_source((64, 256), source_type="Q4_1", native=native), Grid.W4)
    assert converted.path is TensorPath.REQUANT
    assert converted.rel_err < 0.125  # half a step off everywhere would be 0.108 of these weights


def test_rounded_scales_are_the_source_grid() -> None:
    """fp32 source scales rounded to fp16: the codes stay, the error is that of the rounding."""
    rng = np.random.default_rng(0)
    quant = QuantScheme(4, 128, Scheme.ZERO, ScaleDtype.FP32)
    native = quantized_linear(
        quant,
        rng.integers(0, 16, (8, 256)).astype(np.uint8),
        rng.normal(size=(8, 2)).astype(np.float32),
        zeros=np.full((8, 2), 8, np.uint8),
    )
    converted = _convert(_source((8, 256), native=native), Grid.W4)
    assert converted.path is TensorPath.GRID
    assert 0 < converted.rel_err < 5e-4


@pytest.mark.parametrize("std", [1e-7, 1e6])
def test_scales_that_fp16_cannot_hold_are_fp32(std: float) -> None:
    converted = _convert(_dense_source((8, 256), std=std), Grid.W4)
    assert _linear(converted).quant is not None
    assert _linear(converted).quant.scale_dtype is ScaleDtype.FP32
    assert converted.rel_err < 0.1


def test_zero_weights_convert_exactly() -> None:
    zeros = np.zeros((4, 128), np.float32)
    converted = _convert(_source((4, 128), source_type="F32", raw=zeros), Grid.W4)
    assert (converted.path, converted.rel_err) == (TensorPath.EXACT, 0.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e30])
def test_weights_that_are_no_numbers_are_refused_by_name(bad: float) -> None:
    weights = _gauss((4, 128))
    weights[3, 7] = bad
    source = _source((4, 128), source_type="F32", raw=weights)
    with pytest.raises(InvalidSourceError, match=r"blk\.0\.ffn_up\.weight holds weights"):
        convert_linear(source, plan_linear(source, Grid.W4))


def test_the_bias_travels_along() -> None:
    bias = np.arange(4, dtype=np.float32)
    source = _source((4, 128), source_type="F32", raw=_gauss((4, 128)), bias=bias)
    for grid in (Grid.W4, Grid.DENSE):
        assert np.array_equal(_linear(_convert(source, grid)).bias, bias)


def test_unknown_group_sizes_are_refused() -> None:
    with pytest.raises(UsageError, match="Group size 48 is not offered"):
        plan_linear(_dense_source((4, 96)), Grid.W4, 48)


def test_blocks_of_any_size_give_the_same_bytes() -> None:
    weights = _gauss((600, 128))
    whole = _source((600, 128), dense=lambda: weights)
    odd = [slice(0, 1), slice(1, 450), slice(450, 600)]
    streamed = replace(whole, iter_dense=lambda: iter([(rows, weights[rows]) for rows in odd]))
    one, other = (_linear(_convert(source, Grid.EXACT)) for source in (whole, streamed))
    assert one.quant == other.quant
    assert all(a.tobytes() == other.arrays()[name].tobytes() for name, a in one.arrays().items())
