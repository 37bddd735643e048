"""Integer linears of compressed-tensors in any shape: one scale a row or a tensor, odd widths."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from app.checkpoint.reference_quant import dequantize
from app.checkpoint.schemes import Scheme
from app.converter.sources.compressed_tensors_dense import row_readers
from app.converter.sources.compressed_tensors_integer import IntegerArrays, Storage, load_native
from app.converter.sources.native_grid import native_scheme
from app.converter.sources.weight_files import open_weights
from app.core.errors import InvalidSourceError
from tests.compressed_tensors_factory import PackedLinear, random_packed


def store(folder: Path, linear: PackedLinear, storage: Storage) -> IntegerArrays:
    """The linear in a file, one group a row."""
    tensors = linear.tensors(
        padded=storage is Storage.PADDED, zeros_as_int8=storage is Storage.BYTES
    )
    if storage is Storage.BYTES:
        tensors["weight_packed"] = (linear.codes - (1 << (linear.bits - 1))).astype(np.int8)
    save_file({f"x.{name}": array for name, array in tensors.items()}, folder / "model.safetensors")
    stored = open_weights(folder).tensors
    shape = (linear.codes.shape[0], linear.codes.shape[1])
    return IntegerArrays(
        shape,
        linear.bits,
        shape[1] // linear.scales.shape[1],
        storage,
        stored["x.weight_packed"],
        stored["x.weight_scale"],
        stored.get("x.weight_zero_point"),
        None,
    )


def decode(arrays: IntegerArrays) -> tuple[Any, Any]:
    """By both decoders."""
    scheme = Scheme.SYM if arrays.zeros is None else Scheme.ZERO
    quant = native_scheme(
        arrays.bits, arrays.group_size, arrays.shape[1], scheme, arrays.scales.dtype
    )
    assert quant is not None
    dense = np.concatenate([block for _, block in row_readers(arrays)[1]()])
    return dequantize(load_native(arrays, quant)), dense


@pytest.mark.parametrize("bits", range(2, 9))
@pytest.mark.parametrize("storage", Storage)
@settings(max_examples=16, deadline=None)
@given(
    rows=st.integers(1, 40),
    columns=st.integers(1, 70),
    symmetric=st.booleans(),
    one_scale=st.booleans(),
)
def test_any_shape_is_exact(
    storage: Storage, bits: int, rows: int, columns: int, symmetric: bool, one_scale: bool
) -> None:
    linear = random_packed((rows, columns), bits, columns, symmetric=symmetric, seed=rows * columns)
    wanted = linear.weight
    with tempfile.TemporaryDirectory() as folder:
        if one_scale and linear.zeros is None:
            first = linear.scales[:1]
            wanted = replace(linear, scales=np.broadcast_to(first, (rows, 1))).weight
            linear = replace(linear, scales=first)
        for found in decode(store(Path(folder), linear, storage)):
            np.testing.assert_array_equal(found, wanted)


def test_codes_beyond_their_bits_are_refused(tmp_path: Path) -> None:
    linear = random_packed((4, 64), 4, 64)
    linear.codes[1, 2] = 16  # as int8, 8: one more than four bits hold
    arrays = store(tmp_path, linear, Storage.BYTES)
    with pytest.raises(InvalidSourceError, match=r"x\.weight_packed holds a value that has no 4"):
        decode(arrays)
