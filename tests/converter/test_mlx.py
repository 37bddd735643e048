"""MLX folders, quantized by mlx-lm (tests/fixtures/make_mlx.py)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.checkpoint.schemes import ScaleDtype
from app.converter.pipeline import convert
from app.converter.sources.detect import open_source
from app.core.errors import AppError, InvalidSourceError, UnsupportedError
from tests.quantized_folders import (
    Arrays,
    check_decoding,
    check_native,
    copy_fixture,
    edit_config,
    edit_tensors,
    expected_hashes,
    open_fixture,
    quantized_linears,
)

_EXACT = ("bits4", "bits8_fp16", "bits5_fp32", "mixed_2_6", "mixed_3_6", "mxfp4", "nvfp4")
_DOWN = "model.layers.0.mlp.down_proj"


@pytest.mark.parametrize("case", [*_EXACT, "mxfp8"])
def test_decodes_to_what_mlx_decodes(case: str, tmp_path: Path) -> None:
    source = open_fixture("mlx", case, tmp_path)
    assert source.format == "mlx"
    check_decoding(source, expected_hashes("mlx", case))


@pytest.mark.parametrize("case", _EXACT)
def test_is_held_bit_for_bit(case: str, tmp_path: Path) -> None:
    linears = quantized_linears(open_fixture("mlx", case, tmp_path))
    assert len(linears) == 9
    for linear in linears.values():
        check_native(linear)


def test_widths_and_scale_types(tmp_path: Path) -> None:
    linears = quantized_linears(open_fixture("mlx", "mixed_3_6", tmp_path))
    assert {linear.source_type for linear in linears.values()} == {"MLX-3", "MLX-6"}
    labels = {linear.native.label for linear in linears.values() if linear.native}
    assert labels == {"int3 affine g64", "int8 affine g64"}
    for linear in linears.values():
        quant = linear.load_native().quant
        assert quant is not None
        assert quant.scale_dtype is ScaleDtype.FP16
    fp8 = quantized_linears(open_fixture("mlx", "mxfp8", tmp_path))
    assert {linear.native for linear in fp8.values()} == {None}


@pytest.mark.parametrize("case", _EXACT)
def test_conversion_is_lossless(case: str, tmp_path: Path) -> None:
    folder = copy_fixture("mlx", case, tmp_path / "mlx")
    report = convert(folder, tmp_path / "out")
    assert report.lossless
    assert report.num_exact == 9
    config = open_source(folder).config
    assert "quantization" not in config


def _declare(**values: Any) -> Callable[[dict[str, Any]], None]:
    return lambda config: config["quantization"].update(values)


@pytest.mark.parametrize(
    ("edit", "error", "reason"),
    [
        (
            _declare(bits=8),
            InvalidSourceError,
            "declared with 8 bits in groups of 64, but .* 4 bits",
        ),
        (_declare(group_size=32), InvalidSourceError, "groups of 32, but its shapes mean 4 bits"),
        (_declare(**{_DOWN: {"bits": 6}}), InvalidSourceError, "down_proj is declared with 6 bits"),
        (_declare(mode="mxfp4"), InvalidSourceError, "mxfp4 means 4 bits in groups of 32"),
        (_declare(mode="ternary"), UnsupportedError, "MLX mode ternary"),
    ],
)
def test_a_label_that_lies_is_refused_with_both_facts(
    edit: Callable[[dict[str, Any]], None], error: type[AppError], reason: str, tmp_path: Path
) -> None:
    folder = edit_config(copy_fixture("mlx", "bits4", tmp_path / "mlx"), edit)
    with pytest.raises(error, match=reason):
        open_source(folder)


def test_a_missing_override_is_found_by_the_shapes(tmp_path: Path) -> None:
    folder = copy_fixture("mlx", "mixed_2_6", tmp_path / "mlx")
    edit_config(folder, lambda config: config["quantization"].pop(_DOWN))
    with pytest.raises(
        InvalidSourceError, match=r"down_proj is declared with 2 bits .* mean 6 bits"
    ):
        open_source(folder)


def _drop(name: str) -> Callable[[Arrays], None]:
    return lambda tensors: tensors.__delitem__(f"{_DOWN}.{name}")


def _replace(name: str, value: Any) -> Callable[[Arrays], None]:
    return lambda tensors: tensors.update({f"{_DOWN}.{name}": value})


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (_drop("biases"), r"missing .*down_proj\.biases"),
        (_drop("scales"), "mis-shaped .*down_proj.weight"),
        (_drop("weight"), "declared with 4 bits in groups of 64, but its shapes mean 0 bits"),
        (_replace("weight", np.zeros((128, 24), np.int32)), "weight is int32 instead of uint32"),
        (_replace("weight", np.zeros((64, 24), np.uint32)), r"mis-shaped .*weight \[64, 24\]"),
        (_replace("biases", np.zeros((128, 1), np.float16)), "mis-shaped .*biases"),
        (_replace("scales", np.zeros((128, 7), np.float16)), "its shapes mean 4 bits in groups"),
        (_replace("extra", np.zeros(3, np.float16)), "unexpected .*down_proj.extra"),
    ],
)
def test_damaged_tensors(edit: Callable[[Arrays], None], reason: str, tmp_path: Path) -> None:
    folder = edit_tensors(copy_fixture("mlx", "bits4", tmp_path / "mlx"), edit)
    with pytest.raises(InvalidSourceError, match=reason):
        open_source(folder)


@pytest.mark.parametrize(
    ("array", "value"), [("scales", np.nan), ("biases", -np.inf), ("scales", 1e38)]
)
def test_scales_that_are_not_finite_are_refused(array: str, value: float, tmp_path: Path) -> None:
    def damage(tensors: Arrays) -> None:
        tensors[f"{_DOWN}.{array}"][3, 1] = value

    folder = edit_tensors(copy_fixture("mlx", "bits4", tmp_path / "mlx"), damage)
    with pytest.raises(InvalidSourceError, match=rf"{array} is damaged"):
        convert(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_zero_and_negative_scales_are_exact(tmp_path: Path) -> None:
    def change(tensors: Arrays) -> None:
        scales = tensors[f"{_DOWN}.scales"]
        scales[0] = 0
        scales[1] = -scales[1]

    folder = edit_tensors(copy_fixture("mlx", "bits4", tmp_path / "mlx"), change)
    check_native(quantized_linears(open_source(folder))[_DOWN])
    assert convert(folder, tmp_path / "out").num_exact == 9


def test_an_exponent_that_means_nan_is_refused(tmp_path: Path) -> None:
    def damage(tensors: Arrays) -> None:
        tensors[f"{_DOWN}.scales"][5, 0] = 255

    folder = edit_tensors(copy_fixture("mlx", "mxfp4", tmp_path / "mlx"), damage)
    with pytest.raises(InvalidSourceError, match="a scale that is NaN"):
        convert(folder, tmp_path / "out")


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    folder = copy_fixture("mlx", "bits4", tmp_path / "mlx")
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InvalidSourceError, match=r"model\.safetensors"):
        open_source(folder)
