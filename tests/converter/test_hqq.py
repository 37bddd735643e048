"""HQQ folders made of hqq's own layers (tests/fixtures/make_hqq.py)."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.checkpoint.schemes import TensorPath
from app.converter.pipeline import convert
from app.converter.sources.detect import open_source
from app.converter.sources.hqq import HqqFormat
from app.core.errors import AppError, InvalidSourceError, UnsupportedError
from tests.quantized_folders import (
    Arrays,
    check_decoding,
    check_native,
    check_rows,
    copy_fixture,
    edit_config,
    edit_tensors,
    expected_hashes,
    open_fixture,
    open_single,
    quantized_linears,
)

# bits8, bits4: groups of 64 straddle the rows of down_proj (208): native groups of 16.
_EXACT = ("bits8", "bits4", "bits4_row", "bits4_float_view", "bits3", "bits2", "bits1")
_LINEAR = "model.layers.0.self_attn.o_proj"
_DOWN = "model.layers.0.mlp.down_proj"
Edit = Callable[[Arrays], None]


@pytest.mark.parametrize("case", [*_EXACT, "bits4_axis0"])
def test_decodes_to_what_hqq_decodes(case: str, tmp_path: Path) -> None:
    source = open_fixture("hqq", case, tmp_path)
    assert source.format == "hqq"
    check_decoding(source, expected_hashes("hqq", case))


@pytest.mark.parametrize("case", _EXACT)
def test_axis_1_is_held_bit_for_bit(case: str, tmp_path: Path) -> None:
    linears = quantized_linears(open_fixture("hqq", case, tmp_path))
    assert len(linears) == 7
    for linear in linears.values():
        check_native(linear)


@pytest.mark.parametrize("case", _EXACT)
def test_conversion_is_lossless(case: str, tmp_path: Path) -> None:
    report = convert(copy_fixture("hqq", case, tmp_path / "hqq"), tmp_path / "out")
    assert report.num_exact == 7


def test_groups_across_rows_become_int8(tmp_path: Path) -> None:
    report = convert(copy_fixture("hqq", "bits4_axis0", tmp_path / "hqq"), tmp_path / "out")
    rows = [row for row in report.tensors if row.path == TensorPath.REQUANT]
    assert len(rows) == 7
    assert all(row.rel_err < 0.01 for row in rows)


def test_a_zero_too_small_for_its_codes_is_reported_as_an_error(tmp_path: Path) -> None:
    """15 - 1e-5 has more bits than float32: (q - z) * s and q * s + b round differently."""

    def change(tensors: Arrays) -> None:
        zero = tensors[f"{_LINEAR}.zero"]
        zero[:] = np.nextafter(np.float16(1e-5), np.float16(1))
        tensors[f"{_LINEAR}.scale"][:] = np.float16(0.0123)

    folder = edit_tensors(copy_fixture("hqq", "bits4_row", tmp_path / "hqq"), change)
    report = convert(folder, tmp_path / "out")
    (row,) = [row for row in report.tensors if row.path == TensorPath.GRID]
    assert row.name == "layers.0.self_attn.o_proj"
    assert 0 < row.rel_err < 1e-6


def _pack(codes: Any, bits: int) -> Any:
    """Slices of rows, the first one highest (hqq:core/bitpack.py)."""
    count, dtype = (10, np.int32) if bits == 3 else (8 // bits, np.uint8)
    padded = np.zeros((-(-len(codes) // count) * count, codes.shape[1]), dtype)
    padded[: len(codes)] = codes
    slices = padded.reshape(count, -1, codes.shape[1])
    shifts = np.arange(count - 1, -1, -1)[:, None, None] * bits
    return (slices << shifts).sum(axis=0).astype(dtype)


@given(
    bits=st.sampled_from([8, 4, 3, 2, 1]),
    axis=st.integers(0, 1),
    rows=st.integers(1, 6),
    columns=st.sampled_from([16, 40, 64, 72, 128]),
    group=st.sampled_from([8, 16, 32, 64]),
    seed=st.integers(0, 1 << 16),
)
@settings(max_examples=80, deadline=None)
def test_any_shape(bits: int, axis: int, rows: int, columns: int, group: int, seed: int) -> None:
    """Written from the formula; hqq itself wants as many rows of M as fill its items."""
    rows *= 8
    rng, count = np.random.default_rng(seed), rows * columns // group
    shape, per_group = ((count, group), (count, 1)) if axis else ((group, count), (1, count))
    codes = rng.integers(0, 1 << bits, shape)
    zero = (rng.random(per_group) * (1 << bits)).astype(np.float16)
    scale = rng.standard_normal(per_group).astype(np.float16)
    packing = {8: "8bit_u8", 4: "4bit_u8", 3: "3bit_32", 2: "2bit_u8", 1: "1bit_u8"}[bits]
    numbers = {"nbits": bits, "group_size": group, "axis": axis}
    flags = dict.fromkeys(("view_as_float", "quant_scale", "quant_zero"), np.zeros((), np.uint8))
    arrays: Arrays = {
        "W_q": _pack(codes, bits),
        "zero": zero,
        "scale": scale,
        "shape": np.array([rows, columns]),
        "packing": np.frombuffer(packing.encode(), np.uint8),
        **{name: np.array(value, np.int32) for name, value in numbers.items()},
        **flags,
    }
    wanted = (codes.astype(np.float32) - zero) * scale.astype(np.float32)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.safetensors"
        linear = open_single(HqqFormat, {}, arrays, (rows, columns), path)
        np.testing.assert_array_equal(linear.load_dense(), wanted.reshape(rows, columns))
        check_rows(linear)
        if linear.native is not None:
            check_native(linear)
        piece = gcd(columns, group)
        assert (linear.native is not None) == (axis == 1 and piece in (16, 32, 64, columns))


def _without(name: str) -> Edit:
    return lambda tensors: tensors.__delitem__(f"{_LINEAR}.{name}")


def _with(name: str, value: Any) -> Edit:
    return lambda tensors: tensors.update({f"{_LINEAR}.{name}": np.asarray(value)})


_UNKNOWN_PACKING = np.frombuffer(b"4bit_32", np.uint8)


@pytest.mark.parametrize(
    ("edit", "error", "reason"),
    [
        (_without("scale"), InvalidSourceError, r"missing .*o_proj\.scale"),
        (_without("zero"), InvalidSourceError, r"missing .*o_proj\.zero"),
        (_without("W_q"), InvalidSourceError, r"missing .*o_proj\.weight"),
        (_without("nbits"), InvalidSourceError, r"missing .*o_proj\.nbits"),
        (_without("packing"), InvalidSourceError, r"missing .*o_proj\.packing"),
        (
            _with("shape", [128, 64]),
            InvalidSourceError,
            r"shape says \[128, 64\], but .*\[128, 128",
        ),
        (_with("group_size", np.int32(7)), InvalidSourceError, "says group_size 64, but .* has 7"),
        (_with("nbits", np.int32(8)), InvalidSourceError, "says nbits 4, but .* has 8"),
        (_with("axis", np.int32(0)), InvalidSourceError, "says axis 1, but .* has 0"),
        (_with("packing", _UNKNOWN_PACKING), UnsupportedError, "this packing is not supported"),
        (_with("quant_zero", np.uint8(1)), UnsupportedError, "quantized scales or zeros"),
        (_with("W_q", np.zeros((9, 64), np.uint8)), InvalidSourceError, r"mis-shaped .*W_q"),
        (_with("W_q", np.zeros((128, 32), np.float16)), InvalidSourceError, "is float16"),
        (_with("scale", np.zeros((256,), np.float16)), InvalidSourceError, "mis-shaped .*scale"),
        (_with("meta_scale", np.zeros(3, np.uint8)), InvalidSourceError, "unexpected .*meta_scale"),
    ],
)
def test_damaged_tensors(edit: Edit, error: type[AppError], reason: str, tmp_path: Path) -> None:
    folder = edit_tensors(copy_fixture("hqq", "bits4", tmp_path / "hqq"), edit)
    with pytest.raises(error, match=reason):
        open_source(folder)


def test_an_impossible_group_size_where_nothing_is_declared(tmp_path: Path) -> None:
    folder = copy_fixture("hqq", "bits4", tmp_path / "hqq")
    edit_config(folder, lambda config: config["quantization_config"].pop("quant_config"))
    assert len(quantized_linears(open_source(folder))) == 7
    edit_tensors(folder, _with("group_size", np.int32(7)))
    with pytest.raises(InvalidSourceError, match="group_size is 7, which cannot be"):
        open_source(folder)


@pytest.mark.parametrize("array", ["scale", "zero"])
def test_values_that_are_not_finite(array: str, tmp_path: Path) -> None:
    def damage(tensors: Arrays) -> None:
        tensors[f"{_LINEAR}.{array}"][5] = np.nan

    folder = edit_tensors(copy_fixture("hqq", "bits4", tmp_path / "hqq"), damage)
    with pytest.raises(InvalidSourceError, match=f"o_proj.{array} is damaged"):
        convert(folder, tmp_path / "out")
