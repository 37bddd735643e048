"""FP8 folders, quantized by torch and decoded by transformers' own function."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from app.checkpoint.schemes import TensorPath
from app.converter.pipeline import convert
from app.converter.sources.detect import open_source
from app.core.errors import AppError, InvalidSourceError, UnsupportedError
from tests.converter.test_dense_source import hf_tensors, write_folder
from tests.gguf_factory import TinyModel
from tests.quantized_folders import Arrays, check_rows, quantized_linears

Floats = npt.NDArray[np.float32]
Edit = Callable[[Arrays], None]
# Neither side of most matrices is a multiple of the block: 96, 48 and 72 against [64, 32].
MODEL = TinyModel("llama", hidden=72, heads=3, kv_heads=1, head_dim=32, inner=200)
_BLOCK = (64, 32)
_UP = "model.layers.0.mlp.up_proj"
_BLOCK_CONFIG = {"quant_method": "fp8", "weight_block_size": list(_BLOCK)}


def quantize(weight: Floats, block: tuple[int, int]) -> tuple[npt.NDArray[Any], Floats]:
    """e4m3 codes, and one scale a block, the last ones cut off."""
    import torch

    rows, columns = (-(-size // step) for size, step in zip(weight.shape, block, strict=True))
    padded = np.zeros((rows * block[0], columns * block[1]), np.float32)
    padded[: weight.shape[0], : weight.shape[1]] = weight
    tiles = padded.reshape(rows, block[0], columns, block[1])
    scales = np.abs(tiles).max(axis=(1, 3)) / np.float32(448)
    expanded = np.repeat(np.repeat(scales, block[0], 0), block[1], 1)
    scaled = torch.from_numpy(weight / expanded[: weight.shape[0], : weight.shape[1]])
    codes = scaled.to(torch.float8_e4m3fn).view(torch.uint8).numpy()
    return codes.view(ml_dtypes.float8_e4m3fn), scales.astype(np.float32)


def quantized_tensors(block: tuple[int, int] | None, suffix: str, shape: str) -> Arrays:
    """The tiny model with all its layers' linears in FP8; `shape` of a scale without blocks."""
    tensors: Arrays = dict(hf_tensors(MODEL, ml_dtypes.bfloat16))
    for name, weight in hf_tensors(MODEL).items():
        if "_proj" in name:
            size = block or (weight.shape if shape != "row" else (1, weight.shape[1]))
            codes, scales = quantize(weight, size)
            tensors[name] = codes
            tensors[name.removesuffix("weight") + suffix] = _shaped(scales, shape)
    return tensors


def _shaped(scales: Floats, shape: str) -> Floats:
    return {"scalar": scales.reshape(-1)[:1].reshape(()), "one": scales.reshape(-1)}.get(
        shape, scales
    )


def library_decode(codes: npt.NDArray[Any], scales: Floats, block: list[int] | None) -> Floats:
    """transformers' own dequantization, in float32."""
    import torch
    from transformers.integrations.finegrained_fp8 import _dequantize_fp8_weight

    weight = torch.from_numpy(codes.view(np.uint8)).view(torch.float8_e4m3fn)
    scale = torch.from_numpy(np.ascontiguousarray(scales))
    return np.asarray(_dequantize_fp8_weight(weight, scale, block, torch.float32).numpy())


_CASES = [
    (_BLOCK_CONFIG, _BLOCK, "weight_scale_inv", "block"),
    ({"quant_method": "fp8", "activation_scheme": "static"}, None, "weight_scale", "scalar"),
    ({"quant_method": "fp8"}, None, "weight_scale_inv", "one"),
    ({"quant_method": "fbgemm_fp8"}, None, "weight_scale", "row"),
    ({"quant_method": "modelopt", "quant_algo": "FP8"}, None, "weight_scale", "scalar"),
]


@pytest.mark.parametrize(("config", "block", "suffix", "shape"), _CASES)
def test_decodes_to_what_transformers_decodes(
    config: dict[str, Any],
    block: tuple[int, int] | None,
    suffix: str,
    shape: str,
    tmp_path: Path,
) -> None:
    tensors = quantized_tensors(block, suffix, shape)
    folder = write_folder(tmp_path / "fp8", MODEL, tensors, quantization_config=config)
    source = open_source(folder)
    assert source.format == config["quant_method"]
    linears = quantized_linears(source)
    assert len(linears) == 14
    for stem, linear in linears.items():
        scales = tensors[f"{stem}.{suffix}"]
        wanted = library_decode(tensors[f"{stem}.weight"], scales, list(block) if block else None)
        np.testing.assert_array_equal(linear.load_dense(), wanted, err_msg=stem)
        check_rows(linear)
        assert linear.native is None


def test_becomes_int8_and_says_what_that_costs(tmp_path: Path) -> None:
    tensors = quantized_tensors(_BLOCK, "weight_scale_inv", "block")
    folder = write_folder(tmp_path / "fp8", MODEL, tensors, quantization_config=_BLOCK_CONFIG)
    report = convert(folder, tmp_path / "out")
    rows = [row for row in report.tensors if row.path == TensorPath.REQUANT]
    assert all(row.rel_err < 0.01 for row in rows)
    assert not report.lossless


def test_scales_that_are_powers_of_two(tmp_path: Path) -> None:
    tensors = quantized_tensors(_BLOCK, "weight_scale_inv", "block")
    for name in [name for name in tensors if name.endswith("_inv")]:
        tensors[name] = tensors[name].astype(ml_dtypes.float8_e8m0fnu)
    folder = write_folder(tmp_path / "fp8", MODEL, tensors, quantization_config=_BLOCK_CONFIG)
    linear = quantized_linears(open_source(folder))[_UP]
    scales = tensors[f"{_UP}.weight_scale_inv"].astype(np.float32)
    wanted = library_decode(tensors[f"{_UP}.weight"], scales, list(_BLOCK))
    np.testing.assert_array_equal(linear.load_dense(), wanted)


def test_blocks_larger_than_the_matrix(tmp_path: Path) -> None:
    tensors = quantized_tensors(None, "weight_scale_inv", "matrix")
    declared = {"quant_method": "fp8", "weight_block_size": [1 << 40, 1 << 40]}
    folder = write_folder(tmp_path / "fp8", MODEL, tensors, quantization_config=declared)
    linear = quantized_linears(open_source(folder))[_UP]
    wanted = library_decode(tensors[f"{_UP}.weight"], tensors[f"{_UP}.weight_scale_inv"], None)
    np.testing.assert_array_equal(linear.load_dense(), wanted)


def test_scales_of_activations_are_left_out_and_noted(tmp_path: Path) -> None:
    tensors = quantized_tensors(None, "weight_scale", "scalar")
    one = np.ones((), np.float32)
    tensors |= {f"{_UP}.input_scale": one, "model.layers.0.self_attn.k_proj.k_scale": one}
    folder = write_folder(
        tmp_path / "fp8", MODEL, tensors, quantization_config={"quant_method": "fp8"}
    )
    source = open_source(folder)
    assert len(source.notes) == 1
    assert "activations" in source.notes[0]


def test_a_sidecar_of_model_optimizer(tmp_path: Path) -> None:
    tensors = quantized_tensors(None, "weight_scale", "scalar")
    folder = write_folder(tmp_path / "fp8", MODEL, tensors)
    sidecar = '{"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8"}}'
    (folder / "hf_quant_config.json").write_text(sidecar, encoding="utf-8")
    assert open_source(folder).format == "modelopt"
    (folder / "hf_quant_config.json").write_text(sidecar.replace("FP8", "W4A8_AWQ"))
    with pytest.raises(UnsupportedError, match="algorithm W4A8_AWQ"):
        open_source(folder)


def _with(name: str, value: Any) -> Edit:
    return lambda tensors: tensors.update({f"{_UP}.{name}": value})


def _nan(name: str) -> Edit:
    def edit(tensors: Arrays) -> None:
        tensors[f"{_UP}.{name}"] = tensors[f"{_UP}.{name}"].copy()
        tensors[f"{_UP}.{name}"][1, 1] = np.nan

    return edit


_E5M2 = np.zeros((200, 72), ml_dtypes.float8_e5m2)


@pytest.mark.parametrize(
    ("edit", "error", "reason"),
    [
        (lambda t: t.pop(f"{_UP}.weight"), InvalidSourceError, r"missing .*up_proj\.weight"),
        (lambda t: t.pop(f"{_UP}.weight_scale_inv"), InvalidSourceError, "missing .*scale_inv"),
        (_with("weight", _E5M2), UnsupportedError, r"up_proj\.weight is float8_e5m2"),
        (_with("weight_scale_inv", np.ones((4, 2), np.float32)), InvalidSourceError, "mis-shaped"),
        (_with("weight_scale_inv", np.ones((3, 3), np.float32)), InvalidSourceError, "mis-shaped"),
        (_with("weight_scale_inv", np.ones((), np.float32)), InvalidSourceError, "mis-shaped"),
        (_nan("weight"), InvalidSourceError, "it holds a weight that is NaN"),
        (_nan("weight_scale_inv"), InvalidSourceError, "scale_inv is damaged"),
        (_with("weight_scale_inv", np.ones((4, 3), np.int32)), InvalidSourceError, "int32"),
    ],
)
def test_damaged_tensors(edit: Edit, error: type[AppError], reason: str, tmp_path: Path) -> None:
    tensors = quantized_tensors(_BLOCK, "weight_scale_inv", "block")
    edit(tensors)
    folder = write_folder(tmp_path / "fp8", MODEL, tensors, quantization_config=_BLOCK_CONFIG)
    with pytest.raises(error, match=reason):
        convert(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("config", "error", "reason"),
    [
        ({"weight_block_size": [64]}, InvalidSourceError, r"weight_block_size is \[64\]"),
        ({"weight_block_size": [64, 0]}, InvalidSourceError, r"weight_block_size is \[64, 0\]"),
        ({"weight_block_size": [1 << 40, 1 << 40]}, InvalidSourceError, "mis-shaped"),
        ({"weight_block_size": [128, 128]}, InvalidSourceError, "mis-shaped"),
        ({"weight_block_size": None}, InvalidSourceError, "mis-shaped"),
        ({"weight_scale_semantics": "inverse"}, UnsupportedError, "inverse scales"),
    ],
)
def test_a_label_that_lies(
    config: dict[str, Any], error: type[AppError], reason: str, tmp_path: Path
) -> None:
    tensors = quantized_tensors(_BLOCK, "weight_scale_inv", "block")
    declared = _BLOCK_CONFIG | config
    folder = write_folder(tmp_path / "fp8", MODEL, tensors, quantization_config=declared)
    with pytest.raises(error, match=reason):
        open_source(folder)


def test_a_declaration_over_dense_tensors(tmp_path: Path) -> None:
    folder = write_folder(
        tmp_path / "fp8", MODEL, hf_tensors(MODEL), quantization_config=_BLOCK_CONFIG
    )
    with pytest.raises(InvalidSourceError, match="says fp8, but the tensors are all dense"):
        open_source(folder)


def test_other_fp8_dtypes_are_refused_by_name(tmp_path: Path) -> None:
    """float8_e4m3fnuz (AMD) has the same codes for other numbers."""
    tensors = quantized_tensors(_BLOCK, "weight_scale_inv", "block")
    folder = write_folder(tmp_path / "fp8", MODEL, tensors, quantization_config=_BLOCK_CONFIG)
    path = folder / "model.safetensors"
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = content[8 : 8 + length].replace(b'"F8_E4M3"', b'"F8_E4M3FNUZ"')
    path.write_bytes(len(header).to_bytes(8, "little") + header + content[8 + length :])
    with pytest.raises(InvalidSourceError, match="F8_E4M3FNUZ"):
        open_source(folder)
