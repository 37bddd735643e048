"""bitsandbytes folders, saved by transformers (tests/fixtures/make_bitsandbytes.py)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.checkpoint.reference_quant import dequantize
from app.checkpoint.schemes import TensorPath
from app.converter.pipeline import convert
from app.converter.sources.bitsandbytes import BitsAndBytesFormat
from app.converter.sources.bitsandbytes_blocks import TABLES
from app.converter.sources.detect import open_source
from app.core.errors import AppError, InvalidSourceError, UnsupportedError
from tests.quantized_folders import (
    Arrays,
    check_decoding,
    check_rows,
    copy_fixture,
    edit_config,
    edit_tensors,
    expected_hashes,
    open_fixture,
    open_single,
    quantized_linears,
)

_FOUR_BITS = ("nf4", "nf4_double", "nf4_storage_bf16", "fp4_double")
_DOWN = "model.layers.0.mlp.down_proj"  # 208 columns: blocks of 64 straddle its rows
_STATE = f"{_DOWN}.weight.quant_state.bitsandbytes__nf4"
Edit = Callable[[Arrays], None]


@pytest.mark.parametrize("case", [*_FOUR_BITS, "int8"])
def test_decodes_to_what_bitsandbytes_decodes(case: str, tmp_path: Path) -> None:
    source = open_fixture("bitsandbytes", case, tmp_path)
    assert source.format == "bitsandbytes"
    check_decoding(source, expected_hashes("bitsandbytes", case))


@pytest.mark.parametrize("case", _FOUR_BITS)
def test_four_bits_become_int8_and_say_what_that_costs(case: str, tmp_path: Path) -> None:
    folder = copy_fixture("bitsandbytes", case, tmp_path / "bnb")
    report = convert(folder, tmp_path / "out")
    assert not report.lossless
    rows = [row for row in report.tensors if row.path == TensorPath.REQUANT]
    assert len(rows) == 7
    assert all(1e-4 < row.rel_err < 0.01 for row in rows)


def test_int8_keeps_its_codes_and_differs_in_the_last_bit(tmp_path: Path) -> None:
    folder = copy_fixture("bitsandbytes", "int8", tmp_path / "bnb")
    report = convert(folder, tmp_path / "out")
    rows = [row for row in report.tensors if row.path == TensorPath.GRID]
    assert len(rows) == 7
    assert all(0 < row.rel_err < 1e-7 for row in rows)
    for linear in quantized_linears(open_source(folder)).values():
        native = linear.load_native()
        assert native.packed is not None
        np.testing.assert_allclose(dequantize(native), linear.load_dense(), rtol=2e-7)


def _state_bytes(**fields: Any) -> Any:
    return np.frombuffer(json.dumps(fields).encode(), np.uint8)


@given(
    rows=st.integers(1, 9),
    columns=st.integers(1, 90),
    block=st.sampled_from([32, 64]),
    is_nested=st.booleans(),
    storage=st.sampled_from(["uint8", "float16", "float32"]),
    seed=st.integers(0, 1 << 16),
)
@settings(max_examples=60, deadline=None)
def test_any_shape(
    rows: int, columns: int, block: int, is_nested: bool, storage: str, seed: int
) -> None:
    """Written from the formula, blocks and bytes straddling rows as they may."""
    rng, count = np.random.default_rng(seed), rows * columns
    num_blocks = -(-count // block)
    codes = rng.integers(0, 16, count + count % 2).astype(np.uint8)
    packed = codes[::2] << 4 | codes[1::2]
    if packed.size % np.dtype(storage).itemsize:
        storage = "uint8"
    table = np.array(TABLES["nf4"], np.float32)
    arrays = {"weight": packed.view(storage)[:, None], "weight.quant_map": table}
    fields = {"quant_type": "nf4", "blocksize": block, "shape": [rows, columns]}
    absmax = rng.random(num_blocks).astype(np.float32)
    if is_nested:
        inner, outer = rng.integers(0, 256, num_blocks).astype(np.uint8), absmax[:1]
        steps = np.linspace(-1, 1, 256, dtype=np.float32)
        arrays |= {"weight.nested_absmax": outer, "weight.nested_quant_map": steps}
        fields |= {"nested_blocksize": 4096, "nested_offset": 0.25}
        arrays["weight.absmax"] = inner
        absmax = steps[inner] * outer[0] + np.float32(0.25)
    else:
        arrays["weight.absmax"] = absmax
    arrays["weight.quant_state.bitsandbytes__nf4"] = _state_bytes(**fields)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.safetensors"
        linear = open_single(BitsAndBytesFormat, {}, arrays, (rows, columns), path)
        found = linear.load_dense()
        check_rows(linear)
    wanted = table[codes[:count]] * np.repeat(absmax, block)[:count]
    np.testing.assert_array_equal(found, wanted.reshape(rows, columns))


def _without(name: str) -> Edit:
    return lambda tensors: tensors.__delitem__(f"{_DOWN}.{name}")


def _with(name: str, value: Any) -> Edit:
    return lambda tensors: tensors.update({f"{_DOWN}.{name}": value})


def _state(**values: Any) -> Edit:
    def edit(tensors: Arrays) -> None:
        fields = json.loads(tensors[_STATE].tobytes()) | values
        tensors[_STATE] = np.frombuffer(json.dumps(fields).encode(), np.uint8)

    return edit


def _flip_table(tensors: Arrays) -> None:
    tensors[f"{_DOWN}.weight.quant_map"] = -tensors[f"{_DOWN}.weight.quant_map"]


@pytest.mark.parametrize(
    ("edit", "error", "reason"),
    [
        (_without("weight"), InvalidSourceError, r"missing .*down_proj\.weight"),
        (_without("weight.absmax"), InvalidSourceError, r"missing .*weight\.absmax"),
        (_without("weight.quant_map"), InvalidSourceError, r"missing .*quant_map"),
        (_without("weight.nested_absmax"), InvalidSourceError, "missing .*nested_absmax"),
        (lambda t: t.__delitem__(_STATE), InvalidSourceError, "missing .*bitsandbytes__nf4"),
        (_with("weight", np.zeros((128, 104), np.uint8)), InvalidSourceError, "mis-shaped"),
        (_with("weight", np.zeros((99, 1), np.uint8)), InvalidSourceError, r"mis-shaped .*\[99, 1"),
        (_with("weight.absmax", np.ones(3, np.uint8)), InvalidSourceError, "mis-shaped .*absmax"),
        (_flip_table, UnsupportedError, "quant_map is not the nf4 table"),
        (
            _state(shape=[208, 128]),
            InvalidSourceError,
            r"shape \[208, 128\], but the linear is nf4",
        ),
        (_state(quant_type="fp4"), InvalidSourceError, "says fp4 with the shape"),
        (_state(blocksize=1 << 40), InvalidSourceError, "has the blocksize 1099511627776"),
        (_state(blocksize=0), InvalidSourceError, "has the blocksize 0"),
        (_state(blocksize=128), InvalidSourceError, "mis-shaped .*absmax"),
        (_state(nested_offset=None), InvalidSourceError, "has the nested_offset None"),
        (_state(nested_offset=float("nan")), InvalidSourceError, "has the nested_offset nan"),
        (_state(nested_blocksize="256"), InvalidSourceError, "has the nested_blocksize 256"),
        (lambda t: t.update({_STATE: np.zeros(9, np.uint8)}), InvalidSourceError, "is not JSON"),
    ],
)
def test_damaged_tensors(edit: Edit, error: type[AppError], reason: str, tmp_path: Path) -> None:
    folder = edit_tensors(copy_fixture("bitsandbytes", "nf4_double", tmp_path / "bnb"), edit)
    with pytest.raises(error, match=reason):
        open_source(folder)


@pytest.mark.parametrize(
    ("case", "array"),
    [
        ("nf4", "weight.absmax"),
        ("nf4_double", "weight.nested_absmax"),
        ("nf4_double", "weight.nested_quant_map"),
        ("int8", "SCB"),
    ],
)
def test_scales_that_are_not_finite(case: str, array: str, tmp_path: Path) -> None:
    def damage(tensors: Arrays) -> None:
        tensors[f"{_DOWN}.{array}"][1] = np.nan

    folder = edit_tensors(copy_fixture("bitsandbytes", case, tmp_path / "bnb"), damage)
    with pytest.raises(InvalidSourceError, match=f"{array} is damaged"):
        convert(folder, tmp_path / "out")


def test_a_zero_scale_means_zeros(tmp_path: Path) -> None:
    def change(tensors: Arrays) -> None:
        tensors[f"{_DOWN}.weight.absmax"][:] = 0

    folder = edit_tensors(copy_fixture("bitsandbytes", "nf4", tmp_path / "bnb"), change)
    assert not quantized_linears(open_source(folder))[_DOWN].load_dense().any()
    convert(folder, tmp_path / "out")


def test_only_the_row_format_of_int8(tmp_path: Path) -> None:
    edit = _with("weight_format", np.array(2, np.uint8))
    folder = edit_tensors(copy_fixture("bitsandbytes", "int8", tmp_path / "bnb"), edit)
    with pytest.raises(UnsupportedError, match=r"weight_format: only the row format"):
        open_source(folder)


def test_the_flags_are_not_evidence(tmp_path: Path) -> None:
    folder = copy_fixture("bitsandbytes", "nf4", tmp_path / "bnb")
    flags = {"quant_method": "bitsandbytes", "load_in_8bit": True, "load_in_4bit": False}
    edit_config(folder, lambda config: config.update(quantization_config=flags))
    source = open_source(folder)
    assert source.format == "bitsandbytes"
    check_decoding(source, expected_hashes("bitsandbytes", "nf4"))


def test_a_declaration_without_such_tensors_and_the_reverse(tmp_path: Path) -> None:
    folder = copy_fixture("bitsandbytes", "nf4", tmp_path / "bnb")
    edit_config(folder, lambda config: config.pop("quantization_config"))
    with pytest.raises(InvalidSourceError, match=r"no configuration says .* \.quant_state"):
        open_source(folder)
    edit_config(folder, lambda config: config.update(quantization_config={"quant_method": "hqq"}))
    with pytest.raises(InvalidSourceError, match=r"says hqq, but the tensors are \.quant_state"):
        open_source(folder)
