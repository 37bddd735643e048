"""FP4 linears of Model Optimizer, against gguf's decoders of the same codes and scales."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from app.checkpoint.reference_quant import dequantize
from app.converter.pipeline import convert
from app.converter.sources.detect import open_source
from app.converter.sources.fp4 import Fp4Arrays, open_fp4
from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.linear_format import LinearPlace
from app.core.errors import InvalidSourceError
from tests.converter.test_dense_source import hf_tensors, write_folder
from tests.gguf_factory import TinyModel
from tests.quantized_folders import Arrays, check_native, quantized_linears

MODEL = TinyModel("llama")
_UP = "model.layers.0.mlp.up_proj"
DECLARED = {"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}
Edit = Callable[[Arrays], None]


def random_codes(rows: int, columns: int, seed: int) -> npt.NDArray[np.uint8]:
    """Bytes of two codes, all sixteen of them."""
    return np.random.default_rng(seed).integers(0, 256, (rows, columns // 2), dtype=np.uint8)


def random_scales(rows: int, groups: int, seed: int) -> npt.NDArray[Any]:
    """e4m3, positive, subnormal ones and zero among them."""
    codes = np.random.default_rng(seed).integers(0, 0x7F, (rows, groups), dtype=np.uint8)
    return codes.view(ml_dtypes.float8_e4m3fn)


def stored(path: Path, array: npt.NDArray[Any]) -> StoredArray:
    path.write_bytes(array.tobytes())
    return StoredArray(path.name, path, array.dtype, array.shape, 0)


def split_halves(codes: npt.NDArray[np.uint8], block: int) -> npt.NDArray[np.uint8]:
    """Our order (the low nibble is the even column) -> ggml's (low nibbles are the first half)."""
    nibbles = np.stack([codes & 15, codes >> 4], -1).reshape(len(codes), -1, 2, block // 2)
    packed: npt.NDArray[np.uint8] = nibbles[:, :, 0] | nibbles[:, :, 1] << 4
    return packed


def test_mxfp4_is_what_gguf_decodes(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    codes, exponents = random_codes(40, 96, 1), rng.integers(0, 170, (40, 3), dtype=np.uint8)
    exponents[0, 0] = 0
    blocks = np.concatenate([exponents[:, :, None], split_halves(codes, 32)], -1)
    wanted = gguf.quants.dequantize(blocks.reshape(40, -1), gguf.GGMLQuantizationType.MXFP4)
    arrays = Fp4Arrays(stored(tmp_path / "w", codes), stored(tmp_path / "s", exponents), 32)
    linear = open_fp4(LinearPlace("layers.0.mlp.up_proj", "up", (40, 96)), "MXFP4", arrays)
    np.testing.assert_array_equal(linear.load_dense(), wanted)
    check_native(linear)


def test_nvfp4_is_what_gguf_decodes(tmp_path: Path) -> None:
    codes, scales = random_codes(24, 128, 2), random_scales(24, 8, 3)
    nibbles = split_halves(codes, 16).reshape(24, 2, 32)
    blocks = np.concatenate([scales.view(np.uint8).reshape(24, 2, 4), nibbles], -1)
    wanted = gguf.quants.dequantize(blocks.reshape(24, -1), gguf.GGMLQuantizationType.NVFP4)
    arrays = Fp4Arrays(stored(tmp_path / "w", codes), stored(tmp_path / "s", scales), 16)
    linear = open_fp4(LinearPlace("layers.0.mlp.up_proj", "up", (24, 128)), "NVFP4", arrays)
    np.testing.assert_array_equal(linear.load_dense(), wanted)
    check_native(linear)


def nvfp4_tensors() -> Arrays:
    """The tiny model with its layers' linears in Model Optimizer's NVFP4."""
    tensors: Arrays = dict(hf_tensors(MODEL, ml_dtypes.bfloat16))
    for seed, name in enumerate([name for name in tensors if "_proj" in name]):
        rows, columns = tensors[name].shape
        stem = name.removesuffix("weight")
        tensors[name] = random_codes(rows, columns, seed)
        tensors[f"{stem}weight_scale"] = random_scales(rows, columns // 16, seed)
        tensors[f"{stem}weight_scale_2"] = np.array(0.0123, np.float32)
        tensors[f"{stem}input_scale"] = np.array(1, np.float32)
    return tensors


def test_the_second_scale_multiplies(tmp_path: Path) -> None:
    tensors = nvfp4_tensors()
    folder = write_folder(tmp_path / "fp4", MODEL, tensors, quantization_config=DECLARED)
    source = open_source(folder)
    assert len(source.notes) == 1
    linear = quantized_linears(source)[_UP]
    codes = tensors[f"{_UP}.weight"]
    nibbles = np.stack([codes & 15, codes >> 4], -1).reshape(codes.shape[0], -1)
    values = nibbles.view(ml_dtypes.float4_e2m1fn).astype(np.float32)
    scales = tensors[f"{_UP}.weight_scale"].astype(np.float32) * np.float32(0.0123)
    wanted = values * np.repeat(scales, 16, 1)
    np.testing.assert_array_equal(linear.load_dense(), wanted)
    np.testing.assert_array_equal(dequantize(linear.load_native()), wanted)


def test_conversion_is_lossless(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "fp4", MODEL, nvfp4_tensors(), quantization_config=DECLARED)
    report = convert(folder, tmp_path / "out")
    assert report.num_exact == 14


def _with(name: str, value: Any) -> Edit:
    return lambda tensors: tensors.update({f"{_UP}.{name}": value})


def _nan_scale(tensors: Arrays) -> None:
    tensors[f"{_UP}.weight_scale"].view(np.uint8)[2, 1] = 0x7F


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda t: t.pop(f"{_UP}.weight"), r"missing .*up_proj\.weight"),
        (lambda t: t.pop(f"{_UP}.weight_scale_2"), "missing .*weight_scale_2"),
        (lambda t: t.pop(f"{_UP}.weight_scale"), r"mis-shaped .*up_proj\.weight \[96, 32\]"),
        (_with("weight", np.zeros((96, 32), np.int8)), "weight is int8 with float8_e4m3fn scales"),
        (_with("weight_scale", np.zeros((96, 4), np.uint8)), "weight is uint8 with uint8 scales"),
        (_with("weight_scale", np.zeros((96, 2), np.float32)), "mis-shaped .*weight_scale"),
        (_with("weight_scale_2", np.ones(4, np.float32)), "mis-shaped .*weight_scale_2"),
        (_with("weight_scale_2", np.array(np.inf, np.float32)), "weight_scale_2 is damaged"),
        (_with("weight_scale_2", np.array(3e38, np.float32)), "an absurdly large scale"),
        (_nan_scale, "an absurdly large scale"),
    ],
)
def test_damaged_tensors(edit: Edit, reason: str, tmp_path: Path) -> None:
    tensors = nvfp4_tensors()
    edit(tensors)
    folder = write_folder(tmp_path / "fp4", MODEL, tensors, quantization_config=DECLARED)
    with pytest.raises(InvalidSourceError, match=reason):
        convert(folder, tmp_path / "out")


def test_fp8_declared_over_fp4_tensors(tmp_path: Path) -> None:
    declared = DECLARED | {"quant_algo": "FP8"}
    folder = write_folder(tmp_path / "fp4", MODEL, nvfp4_tensors(), quantization_config=declared)
    with pytest.raises(InvalidSourceError, match=r"mis-shaped .*weight \[64, 48\]"):
        open_source(folder)
