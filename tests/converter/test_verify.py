"""The check behind the word lossless."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.checkpoint.reference_quant import dequantize, quantized_linear
from app.checkpoint.schemes import Linear, QuantScheme, ScaleDtype, Scheme, TensorPath
from app.converter.grids import ConvertedLinear
from app.converter.sources.base import SourceLinear
from app.converter.verify import verify_exact
from tests.gguf_factory import Floats

_QUANT = QuantScheme(4, 32, Scheme.SYM, ScaleDtype.FP16)


@pytest.fixture
def linear() -> Linear:
    rng = np.random.default_rng(0)
    codes = rng.integers(-8, 8, (6, 64)).astype(np.int8)
    scales = rng.standard_normal((6, 2)).astype(np.float16)
    return quantized_linear(_QUANT, codes, scales)


def source_of(linear: Linear, weight: Floats) -> SourceLinear:
    return SourceLinear(
        name="lm_head",
        shape=linear.shape,
        source_name="output.weight",
        source_type="Q4_0",
        source_bytes=216,
        is_quantized=True,
        native=_QUANT,
        load_native=lambda: linear,
        load_dense=lambda: weight,
        iter_dense=lambda: iter([(slice(i, i + 2), weight[i : i + 2]) for i in range(0, 6, 2)]),
    )


def test_equal_bits_are_exact(linear: Linear) -> None:
    converted = ConvertedLinear(linear, TensorPath.EXACT, 0.0)
    assert verify_exact(source_of(linear, dequantize(linear)), converted) is converted


@pytest.mark.parametrize("row", [0, 3, 5])
def test_one_differing_bit_is_told_with_its_error(linear: Linear, row: int) -> None:
    weight = dequantize(linear)
    column = int(np.flatnonzero(weight[row])[0])
    weight[row, column] = np.nextafter(weight[row, column], np.float32(9))
    found = verify_exact(source_of(linear, weight), ConvertedLinear(linear, TensorPath.EXACT, 0.0))
    assert found.path is TensorPath.GRID
    error = np.linalg.norm(dequantize(linear).astype(np.float64) - weight)
    assert found.rel_err == pytest.approx(error / np.linalg.norm(weight.astype(np.float64)))
    assert found.rel_err > 0


def test_minus_zero_is_another_bit_pattern(linear: Linear) -> None:
    weight = dequantize(linear)
    row, column = (int(index[0]) for index in np.nonzero(weight == 0))
    weight[row, column] = -weight[row, column]
    found = verify_exact(source_of(linear, weight), ConvertedLinear(linear, TensorPath.EXACT, 0.0))
    assert (found.path, found.rel_err) == (TensorPath.GRID, 0.0)


def test_other_paths_are_not_looked_at(linear: Linear) -> None:
    converted = ConvertedLinear(linear, TensorPath.REQUANT, 0.25)
    assert verify_exact(source_of(linear, dequantize(linear) * 2), converted) is converted


@pytest.fixture
def sampled() -> tuple[Linear, Floats, SourceLinear, list[slice]]:
    """20 blocks of rows that can be asked for one by one; the last is short."""
    rng = np.random.default_rng(0)
    rows, columns = 19 * 1024 + 5, 256
    codes = rng.integers(-8, 8, (rows, columns)).astype(np.int8)
    scales = rng.standard_normal((rows, columns // 32)).astype(np.float16)
    linear = quantized_linear(_QUANT, codes, scales)
    weight, asked = dequantize(linear), list[slice]()

    def load_rows(part: slice) -> Floats:
        asked.append(part)
        return weight[part]

    source = replace(source_of(linear, weight), iter_dense=None, load_rows=load_rows)
    return linear, weight, source, asked


def test_a_sample_holds_the_first_the_last_and_every_sixteenth_block(
    sampled: tuple[Linear, Floats, SourceLinear, list[slice]],
) -> None:
    linear, _, source, asked = sampled
    converted = ConvertedLinear(linear, TensorPath.EXACT, 0.0)
    assert verify_exact(source, converted) is converted
    assert sorted(part.start // 1024 for part in asked) == [0, 16, 19]
    assert {part.stop - part.start for part in asked} == {1024, 5}


@pytest.mark.parametrize(("row", "in_sample"), [(0, True), (16 * 1024, True), (1500, False)])
def test_what_the_sample_misses_the_whole_finds(
    row: int, in_sample: bool, sampled: tuple[Linear, Floats, SourceLinear, list[slice]]
) -> None:
    linear, weight, source, _ = sampled
    weight[row, 3] += 1
    converted = ConvertedLinear(linear, TensorPath.EXACT, 0.0)
    assert (verify_exact(source, converted).path is TensorPath.GRID) == in_sample
    found = verify_exact(source, converted, whole=True)
    assert found.path is TensorPath.GRID
    assert found.rel_err > 0
